import type { SimulatedDisk } from "./simulated-disk.js";

/** Throws where something is not so on a disk that a crash left. It has the disk to itself, and may write to it. */
export type Check = (left: SimulatedDisk) => Promise<void>;

interface Moment {
  readonly disk: SimulatedDisk;
  readonly checks: readonly Check[];
}

/** Looks at a disk after each change of it, and knows what had been promised by then. */
export class Witness {
  readonly moments: Moment[] = [];
  readonly disk: SimulatedDisk;
  #checks: readonly Check[];

  /** @param always what holds whatever happens */
  constructor(disk: SimulatedDisk, always: readonly Check[]) {
    this.disk = disk;
    this.#checks = always;
    disk.onChange = () => this.#look();
    this.#look();
  }

  /** From here on this holds too. */
  promise(check: Check): void {
    this.#checks = [...this.#checks, check];
    this.#look();
  }

  #look(): void {
    this.moments.push({ disk: this.disk.copy(), checks: this.#checks });
  }
}

/** How {@link checkCrashes} chooses among the crashes. */
export interface CrashOptions {
  /** At most this many disks for each moment. */
  readonly limit: number;
  /** Numbers from 0 to below 1. */
  readonly random: () => number;
  /** The machine comes up again: what was running is not any more. */
  readonly reboot: () => void;
  /** What is done with a disk after a crash, which may be cut short by another. */
  readonly recover?: (disk: SimulatedDisk) => Promise<void>;
  /** How many of the disks that a crash left see a second one, and how many moments of their recovery. Default 0. */
  readonly seconds?: number;
}

/** Cuts the power at each moment that a witness saw, and again while what was left is recovered; how many disks that were. */
export async function checkCrashes(witness: Witness, options: CrashOptions): Promise<number> {
  const { limit, random, reboot, recover, seconds = 0 } = options;
  let checked = 0;
  const check = async (left: SimulatedDisk, checks: readonly Check[]) => {
    for (const one of checks) {
      reboot();
      await one(left.copy());
    }
    checked++;
  };
  const share = seconds / (witness.moments.length * limit);
  for (const { disk, checks } of witness.moments) {
    for (const left of disk.afterPowerCut({ limit, random })) {
      await check(left, checks);
      if (recover === undefined || random() >= share) continue;
      reboot();
      const again = new Witness(left.copy(), checks);
      await recover(again.disk);
      again.promise(() => Promise.resolve());
      for (const second of some(again.moments, 12, random)) {
        for (const twice of second.disk.afterPowerCut({ limit: 3, random })) await check(twice, checks);
      }
    }
  }
  return checked;
}

/** So many of a list, and the last in any case. */
function some<T>(all: readonly T[], count: number, random: () => number): readonly T[] {
  return all.filter((_, at) => at === all.length - 1 || random() < count / all.length);
}
