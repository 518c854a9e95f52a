import { SessileError } from "../errors/index.js";

/** The code of a system error, such as ENOSPC. */
export function errnoOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

/** The error of an operation that the storage below refused; anything that is no system error stays what it is. */
export function storageError(operation: string, path: string, cause: unknown): unknown {
  const errno = errnoOf(cause);
  if (cause instanceof SessileError || errno === undefined || !/^E[A-Z0-9]+$/.test(errno)) return cause;
  return new SessileError("STORAGE_FAILED", `${operation} ${path}: ${errno}`, {
    cause,
    details: { operation, path, errno },
  });
}
