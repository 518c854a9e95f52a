/** Metrics: a report of each operation of a store. */

import { SessileError } from "./errors/index.js";

/** One operation of a store, when it has ended. */
export interface StoreOperation {
  /** The method, such as `append`, `open`, `list`, `put`. A method that calls others is one operation. */
  readonly name: string;
  /** Its duration in milliseconds. That of a list or a stream includes the pauses of its reader. */
  readonly ms: number;
  /** The bytes that it stored or read. Absent for operations that move no bytes of their own. */
  readonly bytes?: number;
  /** The code of its error, or the name of an error without a code. Absent if it succeeded. */
  readonly code?: string;
}

/** Called after each operation. Its errors and rejections are ignored. */
export type OnOperation = (operation: StoreOperation) => void;

/** Runs an operation, and reports it if there is a hook. */
export function observed<T>(
  hook: OnOperation | undefined,
  name: string,
  act: () => Promise<T>,
  readBytes?: (value: T) => number | undefined,
): Promise<T> {
  if (hook === undefined) return act();
  const start = performance.now();
  return reported(hook, name, start, act(), readBytes);
}

/** Reports an operation that began at `start`, when its promise settles. */
export async function reported<T>(
  hook: OnOperation,
  name: string,
  start: number,
  operation: Promise<T>,
  findBytes?: (value: T) => number | undefined,
): Promise<T> {
  try {
    const value = await operation;
    report(hook, name, start, { bytes: findBytes?.(value) });
    return value;
  } catch (error) {
    report(hook, name, start, { error });
    throw error;
  }
}

/** Yields the items of a list or a stream, and reports it at its end, also if the reader leaves early. */
export async function* observedItems<T>(
  hook: OnOperation,
  name: string,
  items: AsyncIterable<T>,
  getBytes?: (item: T) => number,
): AsyncGenerator<T, void, undefined> {
  const start = performance.now();
  let bytes = 0;
  let failed: { readonly error: unknown } | undefined;
  try {
    for await (const item of items) {
      if (getBytes !== undefined) bytes += getBytes(item);
      yield item;
    }
  } catch (error) {
    failed = { error };
    throw error;
  } finally {
    report(hook, name, start, { bytes: getBytes && bytes, ...failed });
  }
}

function report(
  hook: OnOperation,
  name: string,
  start: number,
  outcome: { readonly bytes?: number | undefined; readonly error?: unknown },
): void {
  const { bytes } = outcome;
  try {
    const result: unknown = hook({
      name,
      ms: performance.now() - start,
      ...(bytes === undefined ? {} : { bytes }),
      ...("error" in outcome ? { code: errorCode(outcome.error) } : {}),
    });
    // An async function is assignable to the hook.
    if (result instanceof Promise) result.catch(() => undefined);
  } catch {
    // Metrics never harm an operation.
  }
}

function errorCode(error: unknown): string {
  if (error instanceof SessileError) return error.code;
  return error instanceof Error ? error.name : typeof error;
}
