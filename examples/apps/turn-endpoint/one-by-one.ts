/** Runs what it is given one after the other, in the order of the calls; what fails holds up nobody. */
export function oneByOne(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const next = last.then(task);
    last = next.catch(() => undefined);
    return next;
  };
}
