import { messageText, type ToolResultMessage } from "sessile";

/** A call that a scripted model makes. */
export interface ScriptedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, string>>;
}

/** Yields calls, gets their results, and returns the answer. */
export type Work = () => Generator<readonly ScriptedCall[], string, readonly ToolResultMessage[]>;

/** What the user asks for, and how the model does it, where there is anything to do. */
export interface Task {
  readonly prompt: string;
  readonly work?: Work;
}

const read = (path: string): ScriptedCall => ({ name: "read", arguments: { path } });
const bash = (command: string): ScriptedCall => ({ name: "bash", arguments: { command } });
const textOf = (result: ToolResultMessage | undefined) => (result === undefined ? "" : messageText(result));

/** What one can ask for on a project; it keeps count of which files there are. The same seed asks for the same. */
export class ScriptedWork {
  readonly #random: () => number;
  readonly #files: string[];
  readonly #written: string[] = [];
  readonly #folders = new Set<string>();
  #turn = 0;

  constructor(seed: number, files: Iterable<string>) {
    this.#random = randomNumbers(seed);
    this.#files = [...files].filter((path) => path.endsWith(".ts")).sort();
  }

  /** Something that a user says, and the model only answers. */
  say(words: string): Task {
    return this.#task(words);
  }

  /** A turn of many rounds, longer than what a compaction keeps. */
  review(rounds = 16): Task {
    const reads = Array.from({ length: rounds }, () => [1, 2, 3, 4].map(() => read(this.#anyFile())));
    return this.#task("review a good part of the sources", function* () {
      for (const calls of reads) yield calls;
      return `I read ${reads.length * 4} files; nothing is badly wrong.`;
    });
  }

  /** Any of the usual. */
  next(): Task {
    const kinds = [
      "look",
      "look",
      "look",
      "look",
      "edit",
      "edit",
      "write",
      "rewrite",
      "move",
      "remove",
      "fail",
      "chat",
    ] as const;
    switch (this.#pick(kinds)) {
      case "look":
        return this.#look();
      case "edit":
        return this.#edit();
      case "write":
        return this.#write(`docs/notes/turn-${this.#turn + 1}.md`);
      case "rewrite":
        return this.#written.length === 0 ? this.#look() : this.#write(this.#pick(this.#written));
      case "move":
        return this.#move();
      case "remove":
        return this.#remove();
      case "fail":
        return this.#fail();
      case "chat":
        return this.say(`what is the idea of ${this.#anyFile()}?`);
    }
  }

  #task(words: string, work?: Work): Task {
    this.#turn++;
    return { prompt: `Turn ${this.#turn}: ${words}`, ...(work === undefined ? {} : { work }) };
  }

  #look(): Task {
    const [path, other, third] = [this.#anyFile(), this.#anyFile(), this.#anyFile()];
    const folder = path.slice(0, path.lastIndexOf("/"));
    const isFirst = !this.#folders.has(folder);
    this.#folders.add(folder);
    return this.#task(`how do ${path}, ${other} and ${third} work?`, function* () {
      if (isFirst) yield [bash(`wc -l ${folder}/*.ts; grep -n export ${folder}/*.ts | head -40`)];
      const results = yield [read(path), read(other), read(third)];
      return `They have ${results.reduce((sum, each) => sum + textOf(each).length, 0)} characters in all.`;
    });
  }

  #edit(): Task {
    const path = this.#anyFile();
    const mark = `// Looked at in turn ${this.#turn + 1}.\n`;
    return this.#task(`say in ${path} that it was looked at`, function* () {
      const [file] = yield [read(path)];
      const oldText = textOf(file).slice(0, 100);
      const [edited] = yield [{ name: "edit", arguments: { path, oldText, newText: mark + oldText } }];
      return edited?.isError ? "That could not be edited." : `${path} says so now.`;
    });
  }

  #write(path: string): Task {
    const source = this.#anyFile();
    const turn = this.#turn + 1;
    if (!this.#written.includes(path)) this.#written.push(path);
    return this.#task(`write into ${path} what ${source} exports`, function* () {
      const [file] = yield [read(source)];
      const exports = textOf(file)
        .split("\n")
        .filter((line) => line.startsWith("export "));
      const content = `# ${source}, as of turn ${turn}\n\n${exports.join("\n")}\n`;
      yield [{ name: "write", arguments: { path, content } }];
      return `${path} is written.`;
    });
  }

  #move(): Task {
    const [list, at] = this.#anyPlace();
    const from = list[at] as string;
    const to = `moved/turn-${this.#turn + 1}/${from.slice(from.lastIndexOf("/") + 1)}`;
    list[at] = to;
    return this.#task(`move ${from} to ${to}`, function* () {
      yield [{ name: "move", arguments: { from, to } }];
      return `It is ${to} now.`;
    });
  }

  #remove(): Task {
    const [list, at] = this.#anyPlace();
    const [path = ""] = list.splice(at, 1);
    return this.#task(`delete ${path}`, function* () {
      yield [{ name: "delete", arguments: { path } }];
      return `${path} is gone.`;
    });
  }

  /** Calls that fail, none of which may end up in the ledger. */
  #fail(): Task {
    const turn = this.#turn + 1;
    return this.#task("try what cannot be done", function* () {
      const results = yield [
        read(`src/absent-${turn}.ts`),
        { name: "write", arguments: { path: `../outside-${turn}.md`, content: "no" } },
        { name: "edit", arguments: { path: "README.md", oldText: `absent ${turn}`, newText: "no" } },
        { name: "delete", arguments: { path: `absent-${turn}.md` } },
        bash(`ls absent-${turn}`),
      ];
      return `${results.filter(({ isError }) => isError).length} of ${results.length} failed.`;
    });
  }

  #anyFile(): string {
    return this.#pick(this.#files);
  }

  /** A source, or as often a file that was written here. */
  #anyPlace(): readonly [list: string[], at: number] {
    const list = this.#written.length > 0 && this.#random() < 0.5 ? this.#written : this.#files;
    return [list, Math.floor(this.#random() * list.length)];
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }
}

/** Numbers from 0 up to 1: a linear congruential generator, the constants being Numerical Recipes'. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
