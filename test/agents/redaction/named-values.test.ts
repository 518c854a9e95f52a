import { parseSession } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { importSession, redactSession, secretRedaction } from "sessile/interop";
import { describe, expect, it, test } from "vitest";
import { sessionOf } from "../../arbitraries/entries.js";

const secret = "Tr0ub4dor9x8Qz71";
const place = { id: "00000001", parentId: null, timestamp: "2026-01-01T00:00:00.000Z" };

/** The places in a session that hold values of any structure. */
const holders: Readonly<Record<string, (value: unknown) => object>> = {
  "arguments of a call": (value) => ({
    type: "message",
    ...place,
    message: {
      role: "assistant",
      content: [{ type: "toolCall", id: "c", name: "login", arguments: value }],
      ...{ api: "x", provider: "a", model: "m", stopReason: "toolUse", timestamp: 1 },
      usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 },
    },
  }),
  "details of a result": (value) => ({
    type: "message",
    ...place,
    message: {
      role: "toolResult",
      toolCallId: "c",
      toolName: "t",
      isError: false,
      content: [{ type: "text", text: "ok" }],
      details: value,
      timestamp: 1,
    },
  }),
  "data of an entry": (value) => ({ type: "custom", ...place, customType: "x", data: value }),
  "a text of JSON": (value) => ({
    type: "message",
    ...place,
    message: { role: "user", content: JSON.stringify(value), timestamp: 1 },
  }),
};

const names = [
  ...["password", "passwd", "DB_PASSWORD", "dbPassword", "PGPASSWORD", "passphrase", "pwd", "DB_PASS"],
  ...[
    "secret",
    "client_secret",
    "clientSecret",
    "api_key",
    "apiKey",
    "X-API-Key",
    "access_key",
    "private_key",
  ],
  ...["token", "GITHUB_TOKEN", "accessToken", "auth_token", "credential", "credentials", "Authorization"],
];

const structures: Readonly<Record<string, (name: string, value: string) => unknown>> = {
  member: (name, value) => ({ user: "u", [name]: value }),
  "member of env": (name, value) => ({ env: { PATH: "/bin", [name]: value } }),
  "name and value": (name, value) => ({ name, value }),
  "key and value, the value first": (name, value) => ({ value, key: name }),
  "list of names and values": (name, value) => ({
    env: [
      { name: "A", value: "b" },
      { name, value },
    ],
  }),
  "field and text": (name, value) => ({ field: name, text: value }),
  "header and value": (name, value) => ({ header: name, value }),
  "list of values": (name, value) => ({ [name]: ["x", value] }),
  "name and values": (name, value) => ({ headers: [{ name, values: ["x", value] }] }),
  "any member of an object": (name, value) => ({ [name]: { main: value } }),
  "field of a page and text": (name, value) => ({
    element: `${name} field of 1 form`,
    text: value,
    ref: "e1",
  }),
  "label and value": (name, value) => ({ label: name, value }),
  "value within a member": (name, value) => ({ [name]: { value } }),
  "options of a command": (name, value) => ({ args: ["--user", "u", `--${name}`, value] }),
  "pairs of headers": (name, value) => ({
    headers: [
      ["accept", "*/*"],
      [name, value],
    ],
  }),
  "JSON in a string": (name, value) => ({ body: JSON.stringify({ [name]: value }) }),
  "assignment in a text": (name, value) => ({ cmd: `export ${name}=${value}` }),
};

const shown = (entry: object): string =>
  JSON.stringify(redactSession(parseSession(sessionOf([entry as never]).text), secretRedaction()).entries);

describe.each(Object.entries(holders))("in %s", (_, holder) => {
  it.each(Object.entries(structures))("a value counts with its name: %s", (_, structure) => {
    const left = names.filter((name) => shown(holder(structure(name, secret))).includes(secret));
    expect(left).toEqual([]);
  });

  it("a value without such a name stays, and so do ids, types and words", () => {
    const values = [
      { name: "editor", value: secret },
      { name: "get_secret", id: secret, type: "object" },
      { password: "string", secret: true, tokens: 4096 },
      { password: { type: "string", description: "The password of the account, 8 to 64 letters." } },
      { args: ["--output", secret] },
    ];
    for (const value of values) expect(shown(holder(value))).toBe(JSON.stringify([holder(value)]));
  });
});

test("names of nested values are bounded: rich text has content in content", () => {
  let calls = 0;
  let data: object = { text: "some words" };
  for (let depth = 0; depth < 40; depth++) data = { type: "list", content: [data] };
  const redact = (text: string) => {
    calls++;
    return text;
  };
  const entry = { type: "custom", ...place, customType: "x", data };
  redactSession(parseSession(sessionOf([entry as never]).text), redact);
  expect(calls).toBeLessThan(2000);
});

test("a value between quotes may have any sign", () => {
  const redact = secretRedaction();
  const password = "$Tr0ub|4dor9x8;?*";
  expect(redact(`password: "${password}"`)).toBe('password: "[redacted: assigned-secret]"');
  expect(redact('password: "{DB_PASSWORD_1}"')).toBe('password: "{DB_PASSWORD_1}"');
  expect(shown((holders["data of an entry"] as (value: unknown) => object)({ password }))).not.toContain(
    "dor9x8",
  );
});

test("a redaction of the caller sees a value beside its name", () => {
  const redact = (text: string) => text.replace(/("pin":")\d{4}/g, "$1****");
  const source = parseSession(
    sessionOf([{ type: "custom", ...place, customType: "x", data: { pin: "1234" } } as never]).text,
  );
  expect(JSON.stringify(redactSession(source, redact).entries)).toContain('{"pin":"****"}');
});

test("each secret is counted once", () => {
  const redact = secretRedaction();
  const data = {
    password: secret,
    env: [{ name: "API_KEY", value: secret }],
    other: `ghp_${"aB3".repeat(12)}`,
  };
  redactSession(
    parseSession(sessionOf([{ type: "custom", ...place, customType: "x", data } as never]).text),
    redact,
  );
  expect(redact.counts).toEqual({ "assigned-secret": 2, "github-token": 1 });
});

test("an import redacts a value with its name", async () => {
  const line = JSON.stringify({
    type: "assistant",
    uuid: "00000000-0000-4000-8000-000000000001",
    parentUuid: null,
    sessionId: "00000000-0000-4000-8000-000000000000",
    timestamp: place.timestamp,
    cwd: "/w",
    version: "2.1.0",
    message: {
      id: "msg_1",
      role: "assistant",
      model: "m",
      content: [
        { type: "tool_use", id: "t", name: "login", input: { env: [{ name: "PASSWORD", value: secret }] } },
      ],
    },
  });
  const files = [
    { path: "00000000-0000-4000-8000-000000000000.jsonl", bytes: new TextEncoder().encode(line) },
  ];
  const imported = await importSession(files, { from: claudeCode, redact: secretRedaction() });
  expect(JSON.stringify(imported.entries)).toContain("login");
  expect(JSON.stringify(imported.entries)).not.toContain(secret);
});
