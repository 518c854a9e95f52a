/**
 * Makes the shadow of a repository: a git directory within the user's one, with its own index and settings.
 * It shares only objects with the user's repository, and no attribute or setting converts a file, such as
 * `core.autocrlf` and the filters of LFS.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fieldsOf, type Git, gitIn, lineOf } from "./run-git.js";

/** A working tree, and the shadow that a session has of it. */
export interface Shadow {
  /** The top of the working tree, absolute. */
  readonly root: string;
  /** The directory of the shadow. */
  readonly dir: string;
  /** The ref of the user's repository that keeps the snapshots from garbage collection. */
  readonly ref: string;
  /** Commands on the user's repository. */
  readonly user: Git;
  /** Commands on the shadow. */
  readonly git: Git;
}

/** Files of a process that died are removed after this time. */
const leftoverMs = 3_600_000;

/** Settings of the user's repository that concern the file system and the form of objects. */
const keptSettings =
  "^core\\.(sharedrepository|ignorecase|precomposeunicode|longpaths|bigfilethreshold|loosecompression)$";

/**
 * Opens the shadow of the working tree that contains `repo`, and makes it if it does not exist.
 * @throws GitError if `repo` is in no repository; Error if it is in no working tree
 */
export async function openShadow(repo: string, session: string): Promise<Shadow> {
  const from = await realpath(repo);
  const asked = gitIn(from);
  const absolute = ["rev-parse", "--path-format=absolute"];
  const [known, gitDir, objects, settings] = await Promise.all([
    asked(["rev-parse", "--is-inside-work-tree", "--show-object-format", "--show-cdup"]),
    asked([...absolute, "--git-dir"]),
    asked([...absolute, "--git-path", "objects"]),
    asked(["config", "-z", "--get-regexp", keptSettings], { answers: [1] }),
  ]);
  const [isInside, format = "sha1", up = ""] = lineOf(known).split("\n");
  if (isInside !== "true") throw new Error(`${repo} is in no working tree of git`);
  const root = resolve(from, up);
  const name = refName(session);
  const dir = join(lineOf(gitDir), "sessile", name);
  await makeShadow(dir, format);
  return {
    ...{ root, dir, ref: `refs/sessile/${name}` },
    user: gitIn(root, { GIT_DIR: lineOf(gitDir), GIT_WORK_TREE: root }),
    git: gitIn(root, {
      ...{ GIT_DIR: dir, GIT_WORK_TREE: root, GIT_OBJECT_DIRECTORY: lineOf(objects) },
      ...{ GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", GIT_ATTR_NOSYSTEM: "1" },
      ...{ GIT_AUTHOR_NAME: "sessile", GIT_AUTHOR_EMAIL: "sessile@localhost" },
      ...{ GIT_COMMITTER_NAME: "sessile", GIT_COMMITTER_EMAIL: "sessile@localhost" },
      ...settingsOf(settings),
    }),
  };
}

/** A session's id as the last name of a ref: other characters, and dots that git refuses, as `%` and hex. */
function refName(session: string): string {
  const name = session.replace(/[^\w.-]|^\.|\.(?=\.|$|lock$)/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
  );
  if (name === "") throw new TypeError("session: expected an id");
  return name;
}

async function makeShadow(dir: string, format: string): Promise<void> {
  await mkdir(join(dir, "refs"), { recursive: true });
  await mkdir(join(dir, "info"), { recursive: true });
  const lines = [
    ...["[core]", "bare = false", "fsync = committed,reference", "sparseCheckout = false"],
    // Windows and macOS know other spellings of `.git`.
    ...(process.platform === "linux" ? ["protectNTFS = false", "protectHFS = false"] : []),
    ...["repositoryFormatVersion = 1", "[extensions]", `objectFormat = ${format}`],
  ];
  await replaceFile(join(dir, "HEAD"), "ref: refs/heads/none\n");
  await replaceFile(join(dir, "config"), `${lines.join("\n")}\n`);
  // Attributes of this file are stronger than those of the working tree.
  const attributes = "* -text !eol !crlf !filter !ident !working-tree-encoding\n";
  await replaceFile(join(dir, "info", "attributes"), attributes);
  for (const name of await readdir(dir)) {
    if (!/^(index|rules)-/.test(name)) continue;
    const found = await stat(join(dir, name)).catch(() => undefined);
    if (found !== undefined && Date.now() - found.ctimeMs > leftoverMs)
      await rm(join(dir, name), { recursive: true, force: true });
  }
}

/** Replaces a file by an atomic rename: another process may be reading it. */
async function replaceFile(path: string, text: string): Promise<void> {
  if (existsSync(path)) return;
  const temporary = `${path}.${randomUUID()}`;
  await writeFile(temporary, text);
  await rename(temporary, path);
}

/** Settings as variables of git. */
function settingsOf(listed: Buffer): Readonly<Record<string, string>> {
  const settings = fieldsOf(listed);
  const variables = settings.flatMap((setting, at) => {
    const [key = "", value = "true"] = setting.split(/\n(.*)/s);
    return [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ];
  });
  return { ...Object.fromEntries(variables), GIT_CONFIG_COUNT: String(settings.length) };
}
