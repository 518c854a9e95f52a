import { SessileError } from "../errors/index.js";

/**
 * Numbers that libuv has no name for, and that file systems give: of Linux (asm-generic/errno.h), and of macOS and the
 * BSDs (sys/errno.h), whose two mean nothing to a file on Linux. Read 2026-11-22.
 */
const unnamed: Readonly<Record<number, string>> = {
  116: "ESTALE",
  117: "EUCLEAN",
  121: "EREMOTEIO",
  122: "EDQUOT",
  123: "ENOMEDIUM",
  69: "EDQUOT",
  70: "ESTALE",
};

/** The code of a system error, such as ENOSPC; `ERRNO_` and the number of one without a name. */
export function errnoOf(error: unknown): string | undefined {
  const { code, errno } = (error ?? {}) as { readonly code?: unknown; readonly errno?: unknown };
  // Node gives "Unknown system error -122" as the code of such an error, or "UNKNOWN".
  const isNamed = typeof code === "string" && !/^unknown/i.test(code);
  if (isNamed) return code;
  if (typeof errno !== "number" || !Number.isInteger(errno) || errno === 0) return undefined;
  return unnamed[Math.abs(errno)] ?? `ERRNO_${Math.abs(errno)}`;
}

/** The error of an operation that the storage below refused; anything that is no system error stays what it is. */
export function storageError(operation: string, path: string, cause: unknown): unknown {
  const errno = errnoOf(cause);
  if (cause instanceof SessileError || errno === undefined || !/^(E[A-Z0-9]+|ERRNO_\d+)$/.test(errno))
    return cause;
  return new SessileError("STORAGE_FAILED", `${operation} ${path}: ${errno}`, {
    cause,
    details: { operation, path, errno },
  });
}
