import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request as httpRequest, type Server } from "node:http";
import { createRequire } from "node:module";
import { type AddressInfo, connect } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { BlobServiceClient, type ContainerClient, StorageSharedKeyCredential } from "@azure/storage-blob";
import {
  type BlobStoreOptions,
  blobStore,
  collectGarbage,
  deletePartition,
  memorySessionStore,
} from "sessile";
import { type AzureContainer, azureBlobBackend } from "sessile/azure";
import { blobStoreConformance } from "sessile/conformance";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../../support/free-port.js";
import { nodeSha256 } from "../../support/plain-values.js";

// On azurite, the emulator of Azure Storage, as a process on 127.0.0.1, behind a proxy that loses answers.

const account = "devstoreaccount1";
/** The key that every emulator has. */
const accountKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const day = 86_400_000;
const mebibyte = 2 ** 20;
const nothing = [{ root: "none", refs: [], complete: true }];
const keyOf = (ref: string, prefix = "") => `${prefix}${ref.slice(0, 6)}/${ref.slice(7, 9)}/${ref.slice(7)}`;
const noise = (length: number, seed = 7) => new Uint8Array(length).map((_, at) => at * seed + (at >> 8));

let azurite: ChildProcess;
let proxy: Server;
let url: string;
/** The calls since the start of a test: a method, and what tells it from others. */
let calls: string[] = [];
/** Loses the answer of the next call for which it holds. */
let losing: ((call: string) => boolean) | undefined;
/** Prefixes of keys of which the next write loses its answer. */
const losingBelow = new Set<string>();

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const isConnected = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isConnected;
}

async function startAzurite(): Promise<number> {
  const folder = dirname(createRequire(import.meta.url).resolve("azurite/package.json"));
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const options = ["--silent", "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"];
    const args = [join(folder, "dist/src/blob/main.js"), "--blobPort", String(port), ...options];
    azurite = spawn(process.execPath, args, { stdio: "ignore" });
    while (azurite.exitCode === null && !(await isOpen(port))) await pause(50);
    if (azurite.exitCode === null) return port;
    if (attempt === 3) throw new Error("azurite ends when it starts");
  }
}

beforeAll(async () => {
  const port = await startAzurite();
  proxy = createServer((request, response) => {
    const { method = "", url: target = "", headers } = request;
    const { pathname, searchParams } = new URL(target, "http://host");
    const path = decodeURIComponent(pathname);
    const copy = headers["x-ms-copy-source"] === undefined ? undefined : "copy";
    const parts = [method, searchParams.get("comp"), copy, headers["x-ms-range"] ?? headers.range];
    const call = parts.filter(Boolean).join(" ");
    calls.push(call);
    const sent = httpRequest({ host: "127.0.0.1", port, method, path: target, headers }, (answer) => {
      const prefix = call === "PUT" || call === "PUT blocklist" ? path.split("/")[3] : undefined;
      const isLost = losing?.(call) === true || losingBelow.delete(prefix ?? "");
      if (losing?.(call) === true) losing = undefined;
      if (isLost) return void request.socket.destroy();
      response.writeHead(answer.statusCode ?? 0, answer.rawHeaders);
      answer.pipe(response);
    });
    sent.on("error", () => request.socket.destroy());
    request.pipe(sent);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/${account}`;
});
afterAll(async () => {
  proxy?.closeAllConnections();
  proxy?.close();
  if (azurite !== undefined && azurite.exitCode === null && azurite.kill("SIGKILL"))
    await once(azurite, "exit");
});

let containers = 0;
let container: ContainerClient;

async function newContainer(): Promise<ContainerClient> {
  const credential = new StorageSharedKeyCredential(account, accountKey);
  const retryOptions = { maxTries: 4, retryDelayInMs: 1, maxRetryDelayInMs: 1 };
  const service = new BlobServiceClient(url, credential, { retryOptions });
  const made = service.getContainerClient(`blobs${++containers}`);
  await made.create();
  return made;
}

const open = (options: BlobStoreOptions = {}) =>
  blobStore(azureBlobBackend({ container }), { hashes: [nodeSha256], ...options });

async function keysBelow(prefix = ""): Promise<string[]> {
  const keys: string[] = [];
  for await (const { name } of container.listBlobsFlat({ prefix })) keys.push(name);
  return keys;
}

async function callsOf(act: () => Promise<unknown>): Promise<string[]> {
  calls = [];
  await act();
  return calls;
}

beforeEach(async () => {
  losing = undefined;
  container = await newContainer();
});

describe("a store on Azure", () => {
  let shared: ContainerClient;
  beforeAll(async () => {
    shared = await newContainer();
  });

  for (const [at, { name, run }] of blobStoreConformance.entries()) {
    test.concurrent(name, async ({ skip }) => {
      const prefix = `case ${at}+äß`;
      const backend = azureBlobBackend({ container: shared, prefix: `${prefix}/` });
      const result = await run({
        open: (more?: BlobStoreOptions) => blobStore(backend, { hashes: [nodeSha256], ...more }),
        async damage(ref, bytes) {
          await shared.getBlockBlobClient(keyOf(ref, `${prefix}/`)).upload(bytes, bytes.length);
        },
        loseAnswer: () => void losingBelow.add(prefix),
      });
      if (result !== undefined) skip(result.skipped);
    });
  }

  test("takes the client of the SDK as it is", () => {
    const typed: AzureContainer = container;
    expect(azureBlobBackend({ container: typed }).location).toBe(`${container.url}/`);
    expect(() => azureBlobBackend({ container: {} as never })).toThrow("container: expected a client");
  });
});

test("calls are those of the reference", async () => {
  const store = open();
  const { ref } = await store.put(noise(10));
  expect(await callsOf(() => store.put(noise(10)))).toEqual(["PUT"]);
  expect(await callsOf(() => store.get(ref))).toEqual(["GET bytes=0-524287"]);
  expect(await callsOf(() => store.stat(ref))).toEqual(["HEAD"]);
  expect(await callsOf(() => store.touch(ref))).toEqual(["HEAD", "PUT metadata"]);
  const large = noise(17 * mebibyte);
  const parts = ["PUT block", "PUT block", "PUT block", "PUT blocklist"];
  expect((await callsOf(() => store.put(new Blob([large]).stream()))).sort()).toEqual(
    [...parts, "PUT copy", "DELETE"].sort(),
  );
  expect(await callsOf(() => store.get(ref))).toHaveLength(1);
  const now = (await store.backend.now()) + 15 * day;
  const collected = await callsOf(() => collectGarbage(store, { marks: nothing, now: () => now }));
  const moves = ["HEAD", "PUT copy", "HEAD", "DELETE"];
  expect(collected.filter((call) => call !== "GET list")).toEqual([...moves, ...moves]);
});

describe("an answer that is lost", () => {
  const large = noise(17 * mebibyte);

  test.each(["PUT block", "PUT blocklist", "PUT copy", "DELETE"])(
    "to %s of a long put is no loss",
    async (lost) => {
      losing = (call) => call === lost;
      const { ref } = await open().put(new Blob([large]).stream());
      expect(losing).toBeUndefined();
      expect(await open().get(ref)).toEqual(large);
      expect(await keysBelow()).toEqual([keyOf(ref)]);
    },
  );

  test.each(["HEAD", "PUT copy", "DELETE", "GET list"])("to %s of a collection is no loss", async (lost) => {
    const store = open();
    const { ref } = await store.put(noise(10));
    const now = (await store.backend.now()) + 15 * day;
    losing = (call) => call === lost;
    const report = await collectGarbage(store, { marks: nothing, now: () => now });
    expect([losing, report.trashed.count]).toEqual([undefined, 1]);
    expect(await store.get(ref)).toEqual(noise(10));
    expect(await keysBelow()).toEqual([keyOf(ref)]);
  });

  test("to a touch is no loss", async () => {
    const store = open();
    const { ref } = await store.put(noise(10));
    losing = (call) => call === "PUT metadata";
    expect(await store.touch(ref)).toMatchObject({ ref, size: 10 });
    expect(losing).toBeUndefined();
  });
});

test("a read goes on in a blob that is touched, replaced or collected meanwhile", async () => {
  const store = open();
  const bytes = noise(3 * mebibyte);
  const { ref } = await store.put(bytes);
  for (const meanwhile of ["touch", "put", "collect"]) {
    const reading = await store.backend.read(ref);
    if (meanwhile === "touch") await store.touch(ref);
    if (meanwhile === "put") await store.put(bytes);
    const now = (await store.backend.now()) + 15 * day;
    if (meanwhile === "collect") await collectGarbage(store, { marks: nothing, now: () => now });
    const found: Uint8Array[] = [];
    for await (const chunk of reading?.bytes ?? []) found.push(chunk);
    expect(Buffer.concat(found).equals(bytes), meanwhile).toBe(true);
  }
});

test("a copy from the trash does not replace a blob that was put meanwhile", async () => {
  const store = open();
  const { ref } = await store.put(noise(10));
  const now = (await store.backend.now()) + 15 * day;
  await collectGarbage(store, { marks: nothing, now: () => now });
  const client = container.getBlockBlobClient.bind(container);
  let isPut = false;
  container.getBlockBlobClient = (name) => {
    const blob = client(name);
    const copy = blob.beginCopyFromURL.bind(blob);
    blob.beginCopyFromURL = async (...given) => {
      if (!isPut) await client(keyOf(ref)).upload(noise(10), 10);
      isPut = true;
      return copy(...given);
    };
    return blob;
  };
  expect(await store.backend.trash.restore(ref)).toBe(true);
  expect(isPut).toBe(true);
  expect(await keysBelow()).toEqual([keyOf(ref)]);
});

test("a source that may not be copied is not gone", async () => {
  const store = open();
  const { ref } = await store.put(noise(10));
  const now = (await store.backend.now()) + 15 * day;
  const client = container.getBlockBlobClient.bind(container);
  let isGone = false;
  container.getBlockBlobClient = (name) => {
    const blob = client(name);
    blob.beginCopyFromURL = async () => {
      if (isGone) await client(keyOf(ref)).delete();
      throw Object.assign(new Error("not authorized"), { code: "CannotVerifyCopySource", statusCode: 403 });
    };
    return blob;
  };
  const collect = () => collectGarbage(store, { marks: nothing, now: () => now });
  await expect(collect()).rejects.toMatchObject({
    code: "STORAGE_FAILED",
    details: { errno: "CannotVerifyCopySource" },
  });
  expect(await keysBelow()).toEqual([keyOf(ref)]);
  isGone = true;
  expect((await collect()).trashed.count).toBe(0);
});

test("a container that is absent, a wrong key and a server that is gone are told as they are", async () => {
  const service = new BlobServiceClient(url, new StorageSharedKeyCredential(account, accountKey));
  const strange = new StorageSharedKeyCredential(account, Buffer.alloc(64).toString("base64"));
  const gone = new BlobServiceClient(`http://127.0.0.1:${await freePort()}/${account}`, strange, {
    retryOptions: { maxTries: 1 },
  });
  for (const [client, errno] of [
    [service.getContainerClient("absent"), "ContainerNotFound"],
    [new BlobServiceClient(url, strange).getContainerClient(container.containerName), "AuthorizationFailure"],
    [gone.getContainerClient("blobs"), "ECONNREFUSED"],
  ] as const) {
    const store = blobStore(azureBlobBackend({ container: client }));
    const { ref } = await open().put(noise(3));
    for (const act of [
      () => store.stat(ref),
      () => store.get(ref),
      () => store.put(noise(3)),
      () => store.list()[Symbol.asyncIterator]().next(),
    ]) {
      await expect(act()).rejects.toMatchObject({ code: "STORAGE_FAILED", details: { errno } });
    }
  }
});

test("a partition that is deleted leaves nothing, and says what Azure may keep", async () => {
  const store = open();
  await store.partition("acme").put(noise(10));
  const other = await store.partition("acme.co").put(noise(10));
  const { remaining } = await deletePartition(memorySessionStore(), "acme", { blobs: store });
  expect(remaining.join()).toContain("snapshots");
  expect(await keysBelow()).toEqual([keyOf(other.ref, "@acme.co/")]);
});

test("a list ends with its signal", async () => {
  await open().put(noise(10));
  const signal = AbortSignal.abort(new TypeError("enough"));
  await expect(open().backend.list({ signal })[Symbol.asyncIterator]().next()).rejects.toThrow("enough");
});
