import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { root } from "../../scripts/entries.mjs";

const folder = resolve(root, process.env.SESSILE_FIXTURES ?? "../shared/fixtures");

/** A file that is not part of the repository. */
export interface Fixture {
  /** Why there is none; undefined where there is. For the title of a test that is skipped. */
  readonly absent: string | undefined;
  readonly path: string;
  read(): Uint8Array;
}

/** A real file, such as `pi/large-session.v1.jsonl`, from the folder that SESSILE_FIXTURES names. */
export function fixture(path: string): Fixture {
  const full = resolve(folder, path);
  return {
    absent: existsSync(full) ? undefined : `no ${path} in SESSILE_FIXTURES`,
    path: full,
    read: () => readFileSync(full),
  };
}
