/** Identifies processes across machines and reboots, for lock files. */

import * as fs from "node:fs";
import * as os from "node:os";
import { errnoCode } from "./file-system.js";

/** Identifies a process among all processes, on any machine and across reboots. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Host name, with the pid namespace if known: process ids are unique only within one. */
  readonly host: string;
  /** Changes with every boot; empty if unknown. */
  readonly bootId: string;
  /** Start time in the kernel's ticks, because process ids are reused; empty if unknown. */
  readonly startTime: string;
}

let own: ProcessIdentity | undefined;

/** This process. */
export function ownIdentity(): ProcessIdentity {
  own ??= {
    pid: process.pid,
    host: [os.hostname(), attempt(() => fs.readlinkSync("/proc/self/ns/pid"))].filter(Boolean).join("/"),
    bootId: attempt(() => fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    startTime: statByPid(process.pid).startTime,
  };
  return own;
}

/** Whether a process id of this host is in use. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    const errno = errnoCode(error) ?? "";
    // An id outside the system's range throws another error: no process has it.
    return /^E[A-Z]{1,30}$/.test(errno) && errno !== "ESRCH";
  }
}

/** Whether a process of this host and boot is running. */
export function isAlive(other: ProcessIdentity): boolean {
  if (!isRunning(other.pid)) return false;
  const { state, startTime } = statByPid(other.pid);
  // A zombie: its parent has not reaped it, so that its id is in use, but it will never release anything.
  if (state === "Z" || state === "X") return false;
  return startTime === "" || other.startTime === "" || startTime === other.startTime;
}

/**
 * Whether a process has ended, by what it recorded of itself. Undefined if only time can tell: it is of another
 * machine, or this process, one of whose threads it may be.
 */
export function hasEnded(other: Readonly<Record<string, unknown>>): boolean | undefined {
  const self = ownIdentity();
  const { pid, host, bootId = "", startTime = "" } = other;
  if (host !== self.host || typeof pid !== "number") return undefined;
  if (bootId !== "" && self.bootId !== "" && bootId !== self.bootId) return true;
  if (pid === self.pid && startTime === self.startTime) return undefined;
  return !isAlive({ pid, host, bootId: String(bootId), startTime: String(startTime) });
}

/**
 * Fields 3 and 22 of /proc/PID/stat, counted after the command's name, which may contain spaces and
 * parentheses; empty if there is no such file. See proc(5).
 */
function statByPid(pid: number): { readonly state: string; readonly startTime: string } {
  const stat = attempt(() => fs.readFileSync(`/proc/${pid}/stat`, "utf8"));
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", startTime: fields[19] ?? "" };
}

function attempt(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
