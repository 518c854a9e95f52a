/** A project in which the package is installed by npm from its tarball, without a network. */

import { execFileSync, type SpawnSyncReturns, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../../scripts/entries.mjs";
import { buildViewer } from "../../scripts/viewer.mjs";
import { buildPackage } from "../support/built.js";
import { type Sample, sample } from "./sample.js";

export interface Installed extends Sample {
  /** The file of the program. */
  readonly program: string;
  readonly env: NodeJS.ProcessEnv;
  /** Runs the program, and waits for its end. */
  run(...words: readonly string[]): SpawnSyncReturns<string>;
  /** Runs a line in bash, whose path has the program. */
  shell(line: string): SpawnSyncReturns<string>;
}

/** Builds the package with its viewer, packs it, and installs it beside the sessions of a sample. */
export async function installPackage(): Promise<Installed> {
  const [made, viewer] = await Promise.all([sample(), buildViewer()]);
  const { dir } = made;
  const packed = mkdtempSync(join(tmpdir(), "sessile-packed-"));
  try {
    using built = await buildPackage();
    cpSync(built.dir, join(packed, "dist"), { recursive: true });
    // The package has one, and this one would be a second.
    rmSync(join(packed, "dist", "package.json"));
    mkdirSync(join(packed, "dist", "viewer"));
    writeFileSync(join(packed, "dist", "viewer", "app.html"), viewer);
    cpSync(join(root, "package.json"), join(packed, "package.json"));
    const { name, version, dependencies } = JSON.parse(readFileSync(join(packed, "package.json"), "utf8"));
    const npm = (cwd: string, ...args: readonly string[]) =>
      execFileSync("npm", [...args, "--ignore-scripts", "--cache", join(packed, "cache")], {
        cwd,
        stdio: "pipe",
      });
    npm(packed, "pack", "--pack-destination", packed);
    writeFileSync(join(dir, "package.json"), '{ "private": true }\n');
    // The dependencies are those of this repository, so that nothing is asked of a registry.
    const folders = Object.keys(dependencies).map((each) => join(root, "node_modules", each));
    npm(
      dir,
      "install",
      "--offline",
      "--no-audit",
      "--no-fund",
      join(packed, `${name}-${version}.tgz`),
      ...folders,
    );
  } finally {
    rmSync(packed, { recursive: true, force: true });
  }
  const bin = join(dir, "node_modules", ".bin");
  const env = { ...process.env, HOME: join(dir, "home"), NO_COLOR: undefined };
  const program = join(bin, "sessile");
  return {
    ...made,
    program,
    env,
    run: (...words) => spawnSync(program, words, { cwd: dir, encoding: "utf8", env }),
    shell: (line) =>
      spawnSync("bash", ["-c", `set -o pipefail; ${line}`], {
        ...{ cwd: dir, encoding: "utf8" },
        env: { ...env, PATH: `${bin}:${process.env.PATH}` },
      }),
  };
}
