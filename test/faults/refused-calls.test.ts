import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, chownSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { blobsAreKept, sessionIsKept } from "./acknowledged.js";
import { type Actor, type ActorOptions, useActors } from "./acting.js";
import { useMounts } from "./mounts.js";
import { needs } from "./needs.js";

const startActor = useActors();
const mounts = useMounts();
let count = 0;

/** An actor with a session and a blob in a new directory. */
async function prepared(
  options: ActorOptions = {},
  dir = newDirectory(),
): Promise<{ dir: string; actor: Actor }> {
  const actor = await startActor(dir, options);
  for (const line of await actor.act("create s", "put old", "wait 60")) expect(line).toMatch(/^did /);
  return { dir, actor };
}

function newDirectory(): string {
  return join(mounts.dir, `store-${++count}`);
}

function logOf(dir: string): string {
  const project = join(dir, "sessions", "--p--");
  const [name = ""] = readdirSync(project).filter((file) => file.endsWith(".jsonl"));
  return join(project, name);
}

/** Whatever lies in the store that is no log, no blob and no folder. */
function litter(dir: string): readonly string[] {
  const log = logOf(dir);
  return [
    ...readdirSync(dirname(log)).filter((name) => join(dirname(log), name) !== log),
    ...readdirSync(join(dir, "blobs", "tmp")),
  ];
}

/** Lets an actor go on, and end; all that it acknowledged has to be there, and nothing else. */
async function goesOn({ dir, actor }: { dir: string; actor: Actor }): Promise<void> {
  for (const line of await actor.act("append after", "put after", "stream after", "close")) {
    expect(line).toMatch(/^did /);
  }
  expect(litter(dir)).toEqual([]);
  expect(await actor.end()).toBe(0);
  expect(await sessionIsKept(dir, "s", actor.entries)).toEqual([]);
  await blobsAreKept(dir, actor.blobs);
}

describe("row 11: a process that may open no more files", () => {
  needs("prlimit");

  // @covers durability:refused-call
  test("fails whole or succeeds with any number of descriptors left, and goes on when there are more", async () => {
    const outcomes = new Set<string>();
    for (let left = 0; left < 5; left++) {
      const { dir, actor } = await prepared({ through: ["prlimit", "--nofile=64:64"] });
      // A lock that is held is to be let go without a descriptor to look at it with.
      const said = await actor.act(
        "append held",
        `starve ${left}`,
        "wait 100",
        "append more",
        "put new",
        "stream new",
        "wait 100",
      );
      expect(said.length).toBe(7);
      for (const line of said) {
        expect(line).toMatch(/^did |^failed \w+ STORAGE_FAILED EMFILE$/);
        outcomes.add(line.slice(0, 4));
      }
      await actor.act("feed", "wait 300");
      await goesOn({ dir, actor });
    }
    expect([...outcomes].sort()).toEqual(["did ", "fail"]);
  });
});

describe("row 11: a process whose files may not be longer than so much", () => {
  needs("prlimit");

  // @covers durability:refused-call
  test("fails whole, in the middle of a line too, and goes on when they may", async () => {
    const { dir, actor } = await prepared({ through: ["prlimit", "--fsize=60000:unlimited"] });
    const before = readFileSync(logOf(dir));
    expect(await actor.act("batch xx", "put large*90000", "stream long*300000", "wait 60")).toEqual([
      "failed batch STORAGE_FAILED EFBIG",
      "failed put STORAGE_FAILED EFBIG",
      "failed stream STORAGE_FAILED EFBIG",
      "did wait",
    ]);
    expect(readFileSync(logOf(dir)).equals(before)).toBe(true);
    expect(litter(dir)).toEqual([]);
    for (const line of await actor.act("append small", "put small")) expect(line).toMatch(/^did /);
    execFileSync("prlimit", [`--pid=${actor.pid}`, "--fsize=unlimited:unlimited"]);
    for (const line of await actor.act("batch xx", "put large*90000")) expect(line).toMatch(/^did /);
    await goesOn({ dir, actor });
  });
});

describe("row 11: a process of a user who may not", () => {
  needs("root", "setpriv");
  const nobody = 65_534;
  const through = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];

  function own(path: string, uid: number): void {
    chownSync(path, uid, uid);
    if (statSync(path).isDirectory()) for (const name of readdirSync(path)) own(join(path, name), uid);
  }

  async function asNobody() {
    const dir = mounts.dir;
    const home = join(dir, `store-${++count}`);
    execFileSync("mkdir", [home]);
    own(home, nobody);
    return prepared({ through }, home);
  }

  // @covers durability:refused-call
  test("write to the log fails whole, and goes on when it may", async () => {
    const { dir, actor } = await asNobody();
    const path = logOf(dir);
    own(path, 0);
    chmodSync(path, 0o444);
    const before = readFileSync(path);
    expect(await actor.act("close", "open s", "append x", "close", "wait 60")).toEqual([
      "did close",
      "failed open STORAGE_FAILED EACCES",
      expect.stringMatching(/^failed append SESSION_CLOSED/),
      "did close",
      "did wait",
    ]);
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(litter(dir)).toEqual([]);
    own(path, nobody);
    chmodSync(path, 0o600);
    await actor.act("open s");
    await goesOn({ dir, actor });
  });

  // @covers durability:refused-call
  test("write to the directories fails whole, keeps no lock it cannot let go of, and goes on when it may", async () => {
    const { dir, actor } = await asNobody();
    const directories = [dirname(logOf(dir)), join(dir, "blobs", "tmp")];
    // In the middle of a hold of the lock.
    await actor.act("append held");
    for (const directory of directories) chmodSync(directory, 0o555);
    expect(
      (await actor.act("wait 100", "append x", "put new", "stream new", "wait 100")).slice(1, 4),
    ).toEqual([
      expect.stringMatching(/^did append|^failed append STORAGE_FAILED EACCES/),
      "failed put STORAGE_FAILED EACCES",
      "failed stream STORAGE_FAILED EACCES",
    ]);
    for (const directory of directories) chmodSync(directory, 0o755);
    await actor.act("wait 300");
    await goesOn({ dir, actor });
  });

  // @covers durability:refused-call
  test("read a store is told so, and nothing is taken for absent", async () => {
    const { dir, actor } = await asNobody();
    await actor.act("close");
    chmodSync(logOf(dir), 0);
    expect(await actor.act("open s")).toEqual(["failed open STORAGE_FAILED EACCES"]);
    chmodSync(logOf(dir), 0o600);
    chmodSync(dirname(logOf(dir)), 0);
    expect(await actor.act("open s", "create s")).toEqual([
      "failed open STORAGE_FAILED EACCES",
      "failed create STORAGE_FAILED EACCES",
    ]);
    chmodSync(join(dir, "sessions", "--p--"), 0o700);
    chmodSync(join(dir, "blobs", "blobs"), 0);
    expect((await actor.act("has old"))[0]).toMatch(/^failed has STORAGE_FAILED EACCES/);
    chmodSync(join(dir, "blobs", "blobs"), 0o700);
    expect((await actor.act("has old", "open s"))[0]).toBe("did has true");
    await goesOn({ dir, actor });
  });

  // @covers durability:refused-call
  test("change a blob of another user's stores it anew", async () => {
    const { dir, actor } = await asNobody();
    for (const shard of readdirSync(join(dir, "blobs", "blobs", "sha256"))) {
      for (const name of readdirSync(join(dir, "blobs", "blobs", "sha256", shard))) {
        own(join(dir, "blobs", "blobs", "sha256", shard, name), 0);
      }
    }
    expect((await actor.act("has old"))[0]).toBe("did has true");
    await goesOn({ dir, actor });
  });
});

describe("row 11: a file system that forbids changes", () => {
  needs("root", "chattr", "mkfs.ext4", "mount", "loop");
  const marked: string[] = [];
  const mark = (path: string, flag: string) => {
    execFileSync("chattr", [flag, path]);
    if (flag.startsWith("+")) marked.push(path);
  };
  afterEach(() => {
    for (const path of marked.splice(0)) execFileSync("chattr", ["-ia", path]);
  });

  async function onImage() {
    const image = join(mounts.dir, `image-${++count}`);
    mounts.makeImage(image, 16);
    return prepared({}, join(mounts.image(image), "store"));
  }

  // @covers durability:immutable-file
  test("to a log: appends fail whole, or are poisoned where half a line cannot be taken back", async () => {
    const { dir, actor } = await onImage();
    const path = logOf(dir);
    mark(path, "+i");
    expect((await actor.act("close", "open s"))[1]).toBe("failed open STORAGE_FAILED EPERM");
    mark(path, "-i");
    expect(litter(dir)).toEqual([]);
    mark(path, "+a");
    // It may be added to, and that is all that an append does.
    expect((await actor.act("open s", "append y", "close"))[1]).toMatch(/^did append/);
    mark(path, "-a");
    appendFileSync(path, '{"type":"mess');
    mark(path, "+a");
    // Nor is anything else needed to end a torn line.
    const torn = await actor.act("open s", "append z", "append z", "close", "wait 60");
    expect(torn.filter((line) => line.startsWith("did append")).length).toBe(2);
    expect(readFileSync(path, "utf8").split("\n")).toContain('{"type":"mess\t');
    mark(path, "-a");
    expect(litter(dir)).toEqual([]);
    expect(await actor.end()).toBe(0);
    expect(await sessionIsKept(dir, "s", actor.entries)).toEqual([]);
  });

  // @covers durability:blob-untouchable durability:immutable-file
  test("to a blob or a folder: a put says so, and what is there stays right", async () => {
    const { dir, actor } = await onImage();
    const folder = join(dir, "blobs", "tmp");
    for (const flag of ["i", "a"]) {
      mark(folder, `+${flag}`);
      expect((await actor.act("put new"))[0]).toBe("failed put STORAGE_FAILED EPERM");
      mark(folder, `-${flag}`);
    }
    const sha = join(dir, "blobs", "blobs", "sha256");
    const [shard = ""] = readdirSync(sha);
    const [name = ""] = readdirSync(join(sha, shard));
    mark(join(sha, shard, name), "+i");
    const [said = ""] = await actor.act("put old");
    expect(said).toMatch(/^did put|^failed put STORAGE_FAILED EPERM$/);
    mark(join(sha, shard, name), "-i");
    expect((await actor.act("has old"))[0]).toBe("did has true");
    expect(await actor.end()).toBe(0);
    await blobsAreKept(dir, actor.blobs);
  });
});

describe("row 11: a store that lies on two file systems", () => {
  needs("root", "mount");

  // @covers durability:refused-call
  test("a put across them fails whole, wherever the border is", async () => {
    for (const inner of ["tmp", "blobs", join("blobs", "sha256")]) {
      const dir = newDirectory();
      const at = mounts.tmpfs("size=4m", join(dir, "blobs", inner));
      const actor = await startActor(dir);
      expect(await actor.act("put new", "stream new")).toEqual([
        "failed put STORAGE_FAILED EXDEV",
        "failed stream STORAGE_FAILED EXDEV",
      ]);
      expect(readdirSync(join(dir, "blobs", "tmp"))).toEqual([]);
      mounts.unmount(at);
      expect((await actor.act("put new"))[0]).toMatch(/^did put/);
      expect(await actor.end()).toBe(0);
      await blobsAreKept(dir, actor.blobs);
    }
  });
});
