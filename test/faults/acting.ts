import { type Child, startProcess, useProgram } from "./start-child.js";

/** A process that does the steps of actor.ts, one after the other. */
export interface Actor extends Child {
  /** Has it do these steps; gives what it said of each, fewer where it ended before. */
  act(...steps: readonly string[]): Promise<readonly string[]>;
  /** Lets it end, and waits until it has. */
  end(): Promise<number | NodeJS.Signals>;
  /** The ids of entries that it said were written. */
  readonly entries: readonly string[];
  /** The refs of blobs that it said were stored. */
  readonly blobs: readonly string[];
}

/** How to start an actor. */
export interface ActorOptions {
  readonly durability?: "disk" | "os";
  /** A command that runs another, such as `prlimit --fsize=1000`. */
  readonly through?: readonly string[];
}

/** Makes actors startable in this file's tests; each is ready to act when it is given. */
export function useActors(): (dir: string, options?: ActorOptions) => Promise<Actor> {
  const program = useProgram(new URL("./actor.ts", import.meta.url));
  return async (dir, { durability = "disk", through = [] } = {}) => {
    const [command = "", ...args] = [...through, process.execPath, program(), dir, durability];
    // One thread in the pool, so that the order of what it does is always the same.
    const child = startProcess(command, args, { UV_THREADPOOL_SIZE: "1" });
    await child.saying("ready");
    return actor(child);
  };
}

function actor(child: Child): Actor {
  let told = 0;
  const acknowledged = (...names: readonly string[]) =>
    child.said
      .map((line) => line.split(" "))
      .filter(([how, step = ""]) => how === "did" && names.includes(step))
      .flatMap((words) => words.slice(2));
  return {
    ...child,
    async act(...steps) {
      const from = told;
      told += steps.length;
      child.process.stdin?.write(steps.map((step) => `${step}\n`).join(""));
      await child.sayingSoMany(1 + told);
      return child.said.slice(1 + from, 1 + told);
    },
    end() {
      child.process.stdin?.end();
      return child.ended;
    },
    get entries() {
      return acknowledged("create", "append", "batch");
    },
    get blobs() {
      return acknowledged("put", "stream");
    },
  };
}
