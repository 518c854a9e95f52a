import { describe, expect, test } from "vitest";
import { BucketKeys, prefixArgument } from "../../src/storage/objects/keys.js";
import { bucketAddress, encodeKey, ServerClock } from "../../src/storage/objects/s3/client.js";

const hex = "ab".repeat(32);

describe("bucketAddress", () => {
  test.each([
    ["http://127.0.0.1:7480/blobs", "http://127.0.0.1:7480/blobs", "blobs"],
    [
      "https://s3.eu-central-1.amazonaws.com/my.bucket/",
      "https://s3.eu-central-1.amazonaws.com/my.bucket",
      "my.bucket",
    ],
    [
      "https://my.bucket.s3.eu-central-1.amazonaws.com",
      "https://my.bucket.s3.eu-central-1.amazonaws.com",
      "my.bucket",
    ],
    [
      "https://my-bucket.s3-us-west-2.amazonaws.com/",
      "https://my-bucket.s3-us-west-2.amazonaws.com",
      "my-bucket",
    ],
    ["https://b.s3.cn-north-1.amazonaws.com.cn", "https://b.s3.cn-north-1.amazonaws.com.cn", "b"],
    ["https://blobs.example.com", "https://blobs.example.com", undefined],
    ["https://proxy.example.com/s3/blobs", "https://proxy.example.com/s3/blobs", "blobs"],
  ])("%s", (url, base, bucket) => {
    expect(bucketAddress(url)).toEqual({ base, bucket });
  });

  test.each([
    undefined,
    "",
    "blobs",
    "ftp://host/b",
    "https://u:p@host/b",
    "https://host/b?x=1",
    "https://host/b#x",
  ])("refuses %j without repeating credentials", (url) => {
    expect(() => bucketAddress(url)).toThrow(/^url: expected an http or https URL/);
    expect(() => bucketAddress(url)).not.toThrow(/u:p/);
  });
});

describe("keys", () => {
  test("encode only to characters that all signers spell alike, and decode to the same", () => {
    const key = "a b/ä+@!'()*~/%2F?#&=😀";
    expect(encodeKey(key)).toMatch(/^[A-Za-z0-9._~/%-]*$/);
    expect(decodeURIComponent(encodeKey(key))).toBe(key);
    expect(new URL(`http://host/b/${encodeKey(key)}`).pathname).toBe(`/b/${encodeKey(key)}`);
  });

  test.each(["", "agents/", "a", "ä b/+&?#%/", ".../x/", "x..y/", "a".repeat(512)])(
    "take the prefix %j",
    (prefix) => {
      expect(prefixArgument(prefix)).toBe(prefix);
    },
  );

  test.each([
    7,
    "/",
    "/a/",
    "a//b",
    "../",
    "a/../b",
    "a/..",
    ".",
    "./a",
    "a\\b",
    "a\0",
    "\ud800",
    "ä".repeat(257),
  ])("refuse the prefix %j", (prefix) => {
    expect(() => prefixArgument(prefix)).toThrow(/^prefix: expected at most 512 bytes/);
  });

  test("of blobs and of the trash are read back, and foreign ones are not", () => {
    const keys = new BucketKeys("p/");
    const ref = `blake3:${hex}` as const;
    expect(keys.blob(ref)).toBe(`p/blake3/ab/${hex}`);
    expect(keys.refByKey(keys.blob(ref))).toBe(ref);
    expect(keys.trashedRef(keys.trashed(ref, 1700000000000))).toEqual({ ref, trashedAt: 1700000000000 });
    expect(keys.quarantined(ref)).toMatch(new RegExp(`^p/quarantine/blake3/ab/${hex}/[0-9a-f]{8}$`));
    // Two collections in one millisecond.
    expect(keys.trashed(ref, 1700000000000)).not.toBe(keys.trashed(ref, 1700000000000));
    for (const key of [
      `blake3/ab/${hex}`,
      `p/blake3/ac/${hex}`,
      `p/blake3/ab/${hex.toUpperCase()}`,
      `p/md5/ab/${hex}`,
      `p/blake3/ab/${hex}/`,
      `p/@x/blake3/ab/${hex}`,
    ]) {
      expect(keys.refByKey(key)).toBeUndefined();
    }
    for (const rest of [
      "",
      "x",
      "1",
      "-1",
      "1-",
      "1-1234567",
      "1-123456789",
      "1-12345678/2",
      "1234567890123456-12345678",
    ]) {
      expect(keys.trashedRef(`p/trash/blake3/ab/${hex}/${rest}`)).toBeUndefined();
    }
  });

  test("of partitions are below the whole prefix and never each other's", () => {
    const [acme, upper] = [new BucketKeys("p/").partition("acme"), new BucketKeys("p/").partition("Acme")];
    expect(acme.prefix).toBe("p/@acme/");
    expect(upper.refByKey(acme.blob(`sha256:${hex}`))).toBeUndefined();
    expect(new BucketKeys("p/").refByKey(acme.blob(`sha256:${hex}`))).toBeUndefined();
  });
});

describe("the clock of a server", () => {
  const date = (ms: number) => new Headers({ date: new Date(ms).toUTCString() });

  test("has the server's time between its bounds, which replies narrow", () => {
    let local = 1_000_000_000;
    const ahead = 3_600_000 + 437;
    const clock = new ServerClock(() => local);
    expect([clock.isKnown, clock.earliest()]).toEqual([false, local]);
    let width = Number.POSITIVE_INFINITY;
    for (let request = 0; request < 40; request++) {
      const sentAt = local;
      local += 20;
      const told = Math.floor((local + ahead) / 1000) * 1000;
      local += 15;
      clock.observe(date(told), sentAt);
      const now = local + ahead;
      expect(clock.earliest()).toBeLessThanOrEqual(now);
      const latest = new ServerClock(() => local);
      latest.observe(date(told), sentAt);
      expect(clock.stamp()).toBeGreaterThanOrEqual(now);
      width = Math.min(width, now - clock.earliest());
      local += 61;
    }
    expect(width).toBeLessThan(120);
  });

  test("starts anew when a clock was set, and ignores dates that say nothing", () => {
    let local = 1_000_000_000;
    const clock = new ServerClock(() => local);
    clock.observe(date(local), local);
    clock.observe(new Headers({ date: "yesterday" }), local);
    clock.observe(new Headers(), local);
    const cached = date(local - 86_400_000);
    cached.set("age", "86400");
    clock.observe(cached, local);
    expect(clock.earliest()).toBe(local);
    local += 7_200_000;
    clock.observe(date(1_000_005_000), local);
    expect(clock.earliest()).toBe(1_000_005_000);
  });

  test("never stamps two times alike", () => {
    const clock = new ServerClock(() => 5000);
    expect([clock.stamp(), clock.stamp(), clock.stamp()]).toEqual([5000, 5001, 5002]);
  });
});
