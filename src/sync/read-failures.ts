/** Failures of reads from a log: they concern one session, and failures of writes concern the store. */

const failures = new WeakSet<object>();

/** Whether an error is from {@link reading}. */
export function isReadFailure(error: object): boolean {
  return failures.has(error);
}

/** Passes on a promise, and remembers its error as one of a read. */
export async function reading<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    if (typeof error === "object" && error !== null) failures.add(error);
    throw error;
  }
}
