/** A turn to hold a descriptor, through several calls. */
export interface Turn {
  /** Makes a call: as long as one is under way, somebody gets on. */
  use<T>(act: () => Promise<T>): Promise<T>;
  /** Gives the turn to the next in line; again, does nothing. */
  end(): void;
}

/**
 * Lets so many hold a turn at a time, in the order in which they came. Between two calls the holder waits for somebody
 * else, who may be waiting for a turn: a stream that is made of what another put gives. So when all holders have done
 * nothing for a while, the next in line goes before its time.
 */
export function turns(atATime: number, patienceMs: number): () => Promise<Turn> {
  let held = 0;
  let underWay = 0;
  /** Calls that were begun, and turns that were given. */
  let moves = 0;
  let watch: ReturnType<typeof setTimeout> | undefined;
  const waiting: (() => void)[] = [];

  const give = (): void => {
    const next = waiting.shift();
    if (next === undefined) return;
    held++;
    moves++;
    next();
    if (waiting.length > 0) return;
    clearTimeout(watch);
    watch = undefined;
  };
  const watchFrom = (before: number): void => {
    watch = setTimeout(() => {
      if (underWay === 0 && moves === before) give();
      if (waiting.length > 0) watchFrom(moves);
    }, patienceMs);
  };
  const turn = (): Turn => {
    let isMine = true;
    return {
      async use(act) {
        underWay++;
        moves++;
        try {
          return await act();
        } finally {
          underWay--;
        }
      },
      end() {
        if (!isMine) return;
        isMine = false;
        held--;
        if (held < atATime) give();
      },
    };
  };
  return async () => {
    if (held < atATime) {
      held++;
      moves++;
    } else {
      const given = new Promise<void>((go) => waiting.push(go));
      if (watch === undefined) watchFrom(moves);
      await given;
    }
    return turn();
  };
}
