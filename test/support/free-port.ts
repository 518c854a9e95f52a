import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";

/** The first port that the system gives to connections that go out: Linux's own default, if it cannot be read. */
function firstOutgoing(): number {
  try {
    return Number.parseInt(readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8"), 10);
  } catch {
    return 32_768;
  }
}

const first = 15_000;
const last = Math.max(first + 5000, Math.min(32_768, firstOutgoing())) - 1;

/**
 * A port of 127.0.0.1 that is free now, for a server that cannot choose its own. No connection that goes out
 * has such a port by chance, so that a server which stops finds its old port free. Two callers may get the
 * same one, in one of some thousand cases: a server that does not start is started again, with another port.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(first, last);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
  throw new Error(`no free port from ${first} to ${last}`);
}
