import type { LinePlace, LogAppend, LogPosition, SessionBackend, SessionLog } from "sessile";
import { memoryBackend } from "../../src/session/store/memory-backend.js";

/** What a test puts before or in the place of a log's own calls. */
export interface LogHooks {
  /** In the place of an append; `append` is the log's own. */
  append?(
    lines: readonly Uint8Array[],
    expected: LogPosition,
    append: () => Promise<LogAppend>,
  ): Promise<LogAppend>;
  /** Told of each look-up of lines by place. */
  readAt?(places: readonly LinePlace[]): void;
  read?(): void;
  close?(): void;
}

/** A backend whose logs go through hooks, which may be changed while they are in use. */
export function hookedBackend(backend: SessionBackend, hooks: LogHooks): SessionBackend {
  const hooked = (log: SessionLog): SessionLog =>
    new Proxy(log, {
      get(target, name) {
        if (name === "append") {
          return (lines: readonly Uint8Array[], expected: LogPosition) => {
            const append = () => target.append(lines, expected);
            return hooks.append === undefined ? append() : hooks.append(lines, expected, append);
          };
        }
        if (name === "readAt") {
          return (places: readonly LinePlace[]) => {
            hooks.readAt?.(places);
            return target.readAt(places);
          };
        }
        if (name === "read") hooks.read?.();
        if (name === "close") hooks.close?.();
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  return {
    ...backend,
    async create(session) {
      const { log, position } = await backend.create(session);
      return { log: hooked(log), position };
    },
    async open(id, options) {
      const log = await backend.open(id, options);
      return log && hooked(log);
    },
  };
}

/** A backend in memory whose logs go through hooks. */
export function hookedMemory(hooks: LogHooks = {}, now: () => number = Date.now): SessionBackend {
  return hookedBackend(memoryBackend(now), hooks);
}

/** A promise, and the function that resolves it. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
