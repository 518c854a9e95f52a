import * as fs from "node:fs";
import * as os from "node:os";

/** What tells one process from every other, on this machine and elsewhere, now and after a reboot. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Host name, with the pid namespace where that is known: process ids mean something only within one. */
  readonly host: string;
  /** Changes with every boot; empty where unknown. */
  readonly bootId: string;
  /** When the process started, in the kernel's ticks, since process ids are used again; empty where unknown. */
  readonly startTime: string;
}

let own: ProcessIdentity | undefined;

/** This process. */
export function ownIdentity(): ProcessIdentity {
  own ??= {
    pid: process.pid,
    host: [os.hostname(), attempt(() => fs.readlinkSync("/proc/self/ns/pid"))].filter(Boolean).join("/"),
    bootId: attempt(() => fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    startTime: statOf(process.pid).startTime,
  };
  return own;
}

/** Whether a process of this host and boot is running. */
export function isAlive(other: ProcessIdentity): boolean {
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const { state, startTime } = statOf(other.pid);
  // It ended, and its parent has not asked how: its number is taken, and it will never let go of anything.
  if (state === "Z" || state === "X") return false;
  return startTime === "" || other.startTime === "" || startTime === other.startTime;
}

/**
 * Fields 3 and 22 of /proc/PID/stat, counted behind the command's name, which may hold spaces and parentheses; empty
 * where there is no such file. See proc(5).
 */
function statOf(pid: number): { readonly state: string; readonly startTime: string } {
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
