/** Lets so many run at a time, in the order in which they came: each holds a descriptor, and a process has few. */
export function gate(atATime: number): <T>(run: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (run) => {
    if (running < atATime) running++;
    else await new Promise<void>((go) => waiting.push(go));
    try {
      return await run();
    } finally {
      // The place goes to the next in line, so that nobody who comes in between takes it.
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
