import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { expect, onTestFinished, test, vi } from "vitest";
import { isAlive, ownIdentity } from "../../../src/internal/node/process-identity.js";

// The kernel's word on when a process started, and on its state, is found there on Linux alone.
const hasProc = existsSync("/proc/self/stat");

function child(command: string, ...args: string[]): ChildProcess {
  const process = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(() => void process.kill("SIGKILL"));
  return process;
}

test("this process is itself, and alive", () => {
  const own = ownIdentity();
  expect(own).toMatchObject({ pid: process.pid, host: expect.stringContaining(hostname()) });
  expect(ownIdentity()).toEqual(own);
  expect(isAlive(own)).toBe(true);
});

test.runIf(hasProc)("identity tells boots and starts apart on Linux", () => {
  const { bootId, startTime, host } = ownIdentity();
  expect(bootId).toMatch(/^[0-9a-f-]{36}$/);
  expect(startTime).toMatch(/^\d+$/);
  expect(host).toMatch(/\/pid:\[\d+\]$/);
});

test("a process that ended is not alive", () => {
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  expect(isAlive({ ...ownIdentity(), pid, startTime: "" })).toBe(false);
});

test.runIf(hasProc)("another process with a process id that is used again is not the one that had it", () => {
  const own = ownIdentity();
  expect(isAlive({ ...own, startTime: String(Number(own.startTime) - 1) })).toBe(false);
  // Where either start is not known, the process id has to do.
  expect(isAlive({ ...own, startTime: "" })).toBe(true);
});

test("a stopped process is alive", async () => {
  const { pid = 0 } = child("sleep", "30");
  process.kill(pid, "SIGSTOP");
  expect(isAlive({ ...ownIdentity(), pid, startTime: "" })).toBe(true);
});

test.runIf(hasProc)("a process that ended and whose parent has not looked is not alive", async () => {
  // The shell becomes a program that never asks for its child.
  const parent = child("sh", "-c", "sleep 30 & echo $!; exec sleep 30");
  const pid = await new Promise<number>((resolve) => {
    parent.stdout?.once("data", (data) => resolve(Number(String(data))));
  });
  const poll = { timeout: 5000, interval: 5 };
  await vi.waitFor(() => expect(readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n"), poll);
  expect(isAlive({ ...ownIdentity(), pid, startTime: "" })).toBe(true);
  process.kill(pid, "SIGKILL");
  await vi.waitFor(() => expect(isAlive({ ...ownIdentity(), pid, startTime: "" })).toBe(false), poll);
  expect(existsSync(`/proc/${pid}`)).toBe(true);
});
