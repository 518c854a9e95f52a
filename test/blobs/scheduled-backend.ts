import type fc from "fast-check";
import type { BlobBackend, BlobTrash } from "sessile";

/** A backend whose every call waits for its turn, so that calls of several users come in any order. */
export function scheduledBackend(sound: BlobBackend, scheduler: Pick<fc.Scheduler, "schedule">): BlobBackend {
  const turn = <T>(what: string, act: () => Promise<T>): Promise<T> =>
    scheduler.schedule(Promise.resolve(), what).then(act);
  async function* turns<T>(what: string, source: AsyncIterable<T>): AsyncGenerator<T, void> {
    const iterator = source[Symbol.asyncIterator]();
    for (;;) {
      const { value, done } = await turn(what, () => iterator.next());
      if (done) return;
      yield value;
    }
  }
  const trash: BlobTrash = {
    // As files do it: a look, a move, and another look at what was moved.
    async take(seen) {
      const now = await turn("look", () => sound.stat(seen.ref));
      if (now?.touchedAt !== seen.touchedAt) return false;
      const moved = await turn("move", async () => {
        const stat = await sound.stat(seen.ref);
        if (stat !== undefined) await sound.trash.take(stat);
        return stat;
      });
      if (moved === undefined || moved.touchedAt === seen.touchedAt) return moved !== undefined;
      await turn("put back", () => sound.trash.restore(seen.ref));
      return false;
    },
    list: () => turns("list trash", sound.trash.list()),
    restore: (ref) => turn("restore", () => sound.trash.restore(ref)),
    delete: (ref, seen) => turn("delete from trash", () => sound.trash.delete(ref, seen)),
  };
  return {
    write: (ref, bytes, hints) => turn("write", () => sound.write(ref, bytes, hints)),
    create: (hints) => sound.create(hints),
    read: (ref) => turn("read", () => sound.read(ref)),
    stat: (ref) => turn("stat", () => sound.stat(ref)),
    touch: (ref) => turn("touch", () => sound.touch(ref)),
    list: () => turns("list", sound.list()),
    delete: (ref) => turn("delete", () => sound.delete(ref)),
    trash,
    now: () => turn("now", () => sound.now()),
    partition: (name) => scheduledBackend(sound.partition(name), scheduler),
  };
}
