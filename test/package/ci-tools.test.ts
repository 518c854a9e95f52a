import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";

const packages: Readonly<Record<string, string>> = {
  chromium: "chromium",
  strace: "strace",
  "mkfs.ext4": "e2fsprogs",
  chattr: "e2fsprogs",
  filefrag: "e2fsprogs",
  "mkfs.xfs": "xfsprogs",
  mount: "mount",
  losetup: "mount",
  setpriv: "util-linux",
  prlimit: "util-linux",
  zsh: "zsh",
  fish: "fish",
  faketime: "faketime",
  initdb: "postgresql",
  pgbouncer: "pgbouncer",
  "mariadb-install-db": "mariadb-server",
  radosgw: "radosgw",
  "ceph-mon": "ceph-mon",
  "ceph-osd": "ceph-osd",
};

describe(".ci/tools", () => {
  let dir = "";

  const program = (name: string, body: string) => {
    writeFileSync(join(dir, name), `#!/usr/bin/env bash\n${body}\n`);
    chmodSync(join(dir, name), 0o755);
  };
  /** A directory that is the whole path: what the script itself runs, and tools that are there. */
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "sessile-tools-"));
    for (const name of ["bash", "env", "timeout", "sed", "sort", "sleep", "touch", "chmod"]) {
      const places = process.env.PATH?.split(delimiter).map((entry) => join(entry, name));
      const found = places?.find((place) => existsSync(place));
      if (found === undefined) throw new Error(`no ${name} on this machine`);
      symlinkSync(found, join(dir, name));
    }
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const lacking = (...absent: readonly string[]) => {
    for (const name of Object.keys(packages)) if (!absent.includes(name)) program(name, "exit 0");
  };
  /** apt-get that writes down its last argument; `body` may make programs or fail. */
  const apt = (body: string) => program("apt-get", `echo "\${@: -1}" >>"${join(dir, "asked")}"\n${body}`);
  const installing = Object.entries(packages)
    .map(([tool, name]) => `if [ "\${@: -1}" = ${name} ]; then touch ${tool}; chmod +x ${tool}; fi`)
    .join("\n");
  const run = (env: Record<string, string> = {}) => {
    const { status, stdout } = spawnSync(join(dir, "bash"), [join(root, ".ci/tools")], {
      cwd: dir,
      env: { PATH: dir, POSTGRESQL_DIR: join(dir, "postgresql"), APT_PAUSE: "0", ...env },
      encoding: "utf8",
    });
    return { status, lines: stdout.split("\n").filter((line) => line !== "") };
  };
  const asked = () => readFileSync(join(dir, "asked"), "utf8").trim().split("\n");

  it("asks for nothing where every tool is there", () => {
    lacking();
    apt("exit 1");
    expect(run()).toEqual({ status: 0, lines: [] });
    expect(asked).toThrow("ENOENT");
  });

  it.each(Object.entries(packages))(
    "finds that %s alone is missing, and installs its package",
    (tool, name) => {
      lacking(tool);
      apt(installing);
      expect(run()).toEqual({ status: 0, lines: [] });
      expect(asked()).toEqual(["update", name]);
    },
  );

  it("installs the packages that are missing, each by itself, and no other", () => {
    lacking("chromium", "mkfs.xfs", "chattr", "filefrag");
    apt(installing);
    expect(run()).toEqual({ status: 0, lines: [] });
    expect(asked()).toEqual(["update", "chromium", "e2fsprogs", "xfsprogs"]);
  });

  it("takes a Chromium of another name or place", () => {
    lacking("chromium");
    program("browser", "exit 0");
    expect(run({ CHROMIUM: join(dir, "browser") })).toEqual({ status: 0, lines: [] });
    program("chromium-browser", "exit 0");
    expect(run()).toEqual({ status: 0, lines: [] });
  });

  it("takes PostgreSQL's programs of Debian, which are in no path", () => {
    lacking("initdb");
    const bin = join(dir, "postgresql", "15", "bin");
    mkdirSync(bin, { recursive: true });
    program("postgresql/15/bin/initdb", "exit 0");
    expect(run()).toEqual({ status: 0, lines: [] });
  });

  it("names in one line all that could not be installed, though the rest was", () => {
    lacking("chromium", "strace", "mkfs.xfs");
    apt(`case "\${@: -1}" in chromium | xfsprogs) exit 100 ;; esac\n${installing}`);
    expect(run()).toEqual({
      status: 1,
      lines: ["could not install: chromium (package chromium), mkfs.xfs (package xfsprogs)"],
    });
    expect(asked()).toEqual(["update", "chromium", "strace", "xfsprogs", "update", "chromium", "xfsprogs"]);
  });

  it("tries once more to install a package that failed", () => {
    lacking("strace");
    const second = `if [ "\${@: -1}" = strace ] && [ ! -e tried ]; then touch tried; exit 100; fi`;
    apt(`${second}\n${installing}`);
    expect(run()).toEqual({ status: 0, lines: [] });
    expect(asked()).toEqual(["update", "strace", "update", "strace"]);
  });

  it("updates the lists once more when that fails, and tries to install all the same", () => {
    lacking("strace");
    apt(`if [ "\${@: -1}" = update ]; then exit 100; fi\n${installing}`);
    expect(run()).toEqual({ status: 0, lines: [] });
    expect(asked()).toEqual(["update", "update", "strace"]);
  });

  it("ends an apt-get that hangs", () => {
    lacking("strace");
    apt("sleep 30");
    expect(run({ APT_SECONDS: "0.2" })).toEqual({
      status: 1,
      lines: ["could not install: strace (package strace)"],
    });
  });
});
