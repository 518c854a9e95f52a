import type { FileSystem, OpenFile } from "../../src/core/node/file-system.js";
import { createNodeFileSystem } from "../../src/core/node/node-file-system.js";

/** A call to a file system, by the name of the method. */
export interface FileSystemCall {
  readonly number: number;
  readonly name: keyof FileSystem | `file.${keyof OpenFile}`;
  readonly args: readonly unknown[];
}

/** Whether a call fsyncs a file or a directory. */
export function isSync(name: FileSystemCall["name"]): boolean {
  return ["syncDirectory", "file.sync", "file.syncInBackground"].includes(name);
}

const promising = [
  ...["openAsync", "lstatExact", "realpath", "list", "clone"],
  ...["file.statExact", "file.read", "file.appendAsync", "file.location"],
];

/**
 * The machine's file system, with something done before each call: it may throw in the call's place. Fsyncs wait for no
 * device, since no test cuts the power.
 *
 * @param wrap replaces methods of each file that is opened
 */
export function hookedFileSystem(
  before: (call: FileSystemCall) => void,
  wrap: (file: OpenFile) => Partial<OpenFile> = () => ({}),
): FileSystem {
  let number = 0;
  const hooked = <T extends object>(target: T, prefix: string): T =>
    new Proxy(target, {
      get(of, key) {
        const method: unknown = Reflect.get(of, key);
        if (typeof method !== "function") return method;
        const name = `${prefix}${String(key)}` as FileSystemCall["name"];
        return (...args: unknown[]) => {
          const hook = () => before({ number: number++, name, args });
          // A failure of a call that returns a promise is a rejection.
          if (isSync(name) || promising.includes(name)) {
            return (async () => {
              hook();
              return isSync(name) ? undefined : opened(await method.apply(of, args));
            })();
          }
          hook();
          return opened(method.apply(of, args));
        };
      },
    });
  const opened = (result: unknown): unknown => {
    if (typeof result !== "object" || result === null || !("appendAsync" in result)) return result;
    const file = hooked(result as OpenFile, "file.");
    const replaced = wrap(file);
    return new Proxy(file, {
      get: (of, key) => Reflect.get(replaced, key) ?? Reflect.get(of, key),
    });
  };
  return hooked(createNodeFileSystem(), "");
}

/** A system error. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made for a test`), { code });
}

/** An open file with some of its methods replaced. */
export function withMethods(file: OpenFile, methods: Partial<OpenFile>): OpenFile {
  return new Proxy(file, {
    get(of, key) {
      const value: unknown = Reflect.get(methods, key) ?? Reflect.get(of, key);
      return typeof value === "function" ? value.bind(of) : value;
    },
  });
}
