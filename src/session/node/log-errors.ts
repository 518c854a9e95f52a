import { SessileError } from "../../errors/index.js";
import type { FileStat } from "../../internal/node/file-system.js";

/** The error of a session whose file is no longer there. */
export function gone({ id, path }: { readonly id: string; readonly path: string }): SessileError {
  return new SessileError("SESSION_NOT_FOUND", `the file of session ${id} is gone: ${path}`, {
    details: { id },
  });
}

/** The error of a session that cannot be made since there is one of its id. */
export function exists(id: string): SessileError {
  return new SessileError("SESSION_EXISTS", `there is a session ${id} already`, { details: { id } });
}

/** Throws NOT_A_FILE for anything that is no regular file. */
export function regular(path: string, stat: FileStat): FileStat {
  if (stat.kind === "file") return stat;
  throw new SessileError("NOT_A_FILE", `${path} is a ${stat.kind}, not a file`, {
    details: { path, kind: stat.kind },
  });
}
