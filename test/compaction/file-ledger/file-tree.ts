import { hashes } from "./arbitraries.js";
import type { Act } from "./naive.js";

/** A file system of one tree, whose files are hashes of contents. Every file of the acts' may be there at the start. */
export class FileTree {
  readonly #files = new Map<string, string>();
  /** Made by a directory that something is in, and there until it is deleted or moved. */
  readonly #directories = new Set<string>(["d", "d/e", "e"]);

  constructor() {
    for (const path of ["a", "d/x", "d/e/z", "d.x"]) this.#files.set(path, hashes[0] as string);
  }

  has(path: string): boolean {
    return this.#files.has(path) || this.#directories.has(path);
  }

  contentOf(path: string): string | undefined {
    return this.#files.get(path);
  }

  /** Does it where a system would, and gives it with the outcome and what a result says of the content. */
  do(act: Act): Act {
    const { operation, path, to, hash } = act;
    const failed: Act = { ...act, outcome: "failed" };
    const parts = path.split("/").slice(0, -1);
    const parents = parts.map((_, at) => parts.slice(0, at + 1).join("/"));
    switch (operation) {
      case "read":
        return this.#files.has(path) ? { ...act, hash: hash && this.contentOf(path) } : failed;
      case "modify":
        if (!this.#files.has(path)) return failed;
        this.#files.set(path, hash ?? "unknown");
        return act;
      case "write":
      case "create":
        if (this.#directories.has(path) || parents.some((each) => this.#files.has(each))) return failed;
        for (const parent of parents) this.#directories.add(parent);
        this.#files.set(path, hash ?? "unknown");
        return act;
      case "delete":
        if (!this.has(path)) return failed;
        this.#take(path);
        return act;
      case "move": {
        const inside = to.split("/").slice(0, -1).join("/");
        if (!this.has(path) || this.#directories.has(to) || `${to}/`.startsWith(`${path}/`)) return failed;
        if (
          (inside !== "" && !this.#directories.has(inside)) ||
          (this.#files.has(to) && !this.#files.has(path))
        )
          return failed;
        const moved = this.#take(path);
        for (const [below, content] of moved.files) this.#files.set(to + below, content);
        for (const below of moved.directories) this.#directories.add(to + below);
        return { ...act, hash: undefined };
      }
    }
  }

  /** Takes a path out with all below it; what was there by the rest of its path. */
  #take(path: string) {
    const isIn = (each: string) => each === path || each.startsWith(`${path}/`);
    const files = [...this.#files].filter(([each]) => isIn(each));
    const directories = [...this.#directories].filter(isIn);
    for (const [each] of files) this.#files.delete(each);
    for (const each of directories) this.#directories.delete(each);
    return {
      files: files.map(([each, content]) => [each.slice(path.length), content] as const),
      directories: directories.map((each) => each.slice(path.length)),
    };
  }
}
