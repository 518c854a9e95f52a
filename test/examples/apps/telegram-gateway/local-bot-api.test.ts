import { describe, expect, it } from "vitest";
import { makePng } from "../../../../examples/apps/support/make-media.js";
import {
  type LocalBotApi,
  startLocalBotApi,
} from "../../../../examples/apps/telegram-gateway/local-bot-api.js";
import { tooManyRequests } from "../../../../examples/apps/telegram-gateway/local-chats.js";

const ada = 7;

async function call(api: LocalBotApi, method: string, params: object = {}, token = api.token) {
  const response = await fetch(`${api.root}/bot${token}/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(params),
  });
  const body = await response.json();
  expect(body.ok).toBe(response.status === 200);
  if (!body.ok) expect(body.error_code).toBe(response.status);
  return body;
}

async function upload(api: LocalBotApi, method: string, field: string, bytes: Uint8Array, caption?: string) {
  const form = new FormData();
  form.append("chat_id", String(ada));
  if (caption !== undefined) form.append("caption", caption);
  form.append(field, new Blob([Uint8Array.from(bytes)], { type: "image/png" }), "a.png");
  const response = await fetch(`${api.root}/bot${api.token}/${method}`, { method: "POST", body: form });
  return response.json();
}

const descriptionOf = async (answer: Promise<{ readonly description?: string }>) =>
  (await answer).description;

/** Each takes less than a second on an idle machine. */
const timeout = 180_000;

describe("getUpdates", { timeout }, () => {
  it("repeats updates until an offset confirms them", async () => {
    await using api = await startLocalBotApi();
    const [first, second] = [api.post(ada, { text: "a" }), api.post(ada, { text: "b" })];
    const idsOf = async (params: object) =>
      (await call(api, "getUpdates", params)).result.map(({ update_id: id }: { update_id: number }) => id);
    expect(await idsOf({})).toEqual([first, second]);
    expect(await idsOf({ offset: first })).toEqual([first, second]);
    expect(await idsOf({ limit: 1 })).toEqual([first]);
    expect(await idsOf({ offset: second })).toEqual([second]);
    expect(await idsOf({})).toEqual([second]);
    expect(await idsOf({ offset: second + 1 })).toEqual([]);
  });

  it("waits for an update, and no longer than it is told", async () => {
    await using api = await startLocalBotApi();
    const waiting = call(api, "getUpdates", { timeout: 50 });
    setTimeout(() => api.post(ada, { text: "a" }), 50);
    expect((await waiting).result).toHaveLength(1);
    const id = (await call(api, "getUpdates")).result[0].update_id;
    expect(await call(api, "getUpdates", { offset: id + 1, timeout: 0.05 })).toEqual({
      ok: true,
      result: [],
    });
  });

  it("ends the poll that waits when another one comes", async () => {
    await using api = await startLocalBotApi();
    const first = call(api, "getUpdates", { timeout: 50 });
    while (api.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await call(api, "getUpdates");
    expect(await first).toMatchObject({
      error_code: 409,
      description: /^Conflict: terminated by other getUpdates/,
    });
  });
});

describe("refusals", { timeout }, () => {
  it("are in the words of the Bot API", async () => {
    await using api = await startLocalBotApi();
    api.post(ada, { text: "Hi" });
    const { message_id } = (await call(api, "sendMessage", { chat_id: ada, text: "a" })).result;
    const edit = (text: string, id = message_id) =>
      descriptionOf(call(api, "editMessageText", { chat_id: ada, message_id: id, text }));
    const send = (params: object) => descriptionOf(call(api, "sendMessage", params));
    expect(await descriptionOf(call(api, "getMe", {}, "1:other"))).toBe("Unauthorized");
    expect(await descriptionOf(call(api, "getMe"))).toBe("Not Found: method not found");
    expect(await send({ text: "a" })).toBe("Bad Request: chat_id is empty");
    expect(await send({ chat_id: 99, text: "a" })).toBe("Bad Request: chat not found");
    expect(await send({ chat_id: ada, text: " \n" })).toBe("Bad Request: message text is empty");
    expect(await send({ chat_id: ada, text: "x".repeat(4097) })).toBe("Bad Request: message is too long");
    expect(await send({ chat_id: ada, text: "x".repeat(4096) })).toBeUndefined();
    expect(await edit("a")).toMatch(/^Bad Request: message is not modified: specified new message content/);
    expect(await edit("b", 999)).toBe("Bad Request: message to edit not found");
    expect(await edit("b")).toBeUndefined();
    expect(await descriptionOf(call(api, "getFile", { file_id: "x" }))).toMatch(
      /^Bad Request: wrong file_id/,
    );
  });

  it("are of what is no JSON, too", async () => {
    await using api = await startLocalBotApi();
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${api.root}/bot${api.token}/getMe`, { method: "POST", headers, body: "{" });
    expect(await response.json()).toEqual({
      ok: false,
      error_code: 400,
      description: "Bad Request: can't parse JSON",
    });
  });

  it("come on demand, once each", async () => {
    await using api = await startLocalBotApi();
    api.fail("getUpdates", tooManyRequests(4), "drop");
    expect(await call(api, "getUpdates")).toMatchObject({ error_code: 429, parameters: { retry_after: 4 } });
    await expect(call(api, "getUpdates")).rejects.toThrow();
    expect(await call(api, "getUpdates")).toEqual({ ok: true, result: [] });
  });
});

describe("files", { timeout }, () => {
  it("come in byte for byte, by multipart", async () => {
    await using api = await startLocalBotApi();
    api.post(ada, { text: "Hi" });
    const png = makePng(30, 20);
    // Bytes that look like the end of a part.
    const bytes = Buffer.concat([png, Buffer.from("\r\n--boundary--\r\n\0\xff", "latin1")]);
    expect(await upload(api, "sendPhoto", "photo", bytes, "Ä 😀\r\nb")).toMatchObject({ ok: true });
    const [message] = api.messages(ada);
    expect(message).toMatchObject({
      caption: "Ä 😀\r\nb",
      photo: { field: "photo", name: "a.png", mediaType: "image/png" },
    });
    expect(Buffer.compare(message?.photo?.bytes ?? new Uint8Array(), bytes)).toBe(0);
  });

  it("are refused as photos where Telegram refuses them, and taken as documents", async () => {
    await using api = await startLocalBotApi();
    api.post(ada, { text: "Hi" });
    const photo = (bytes: Uint8Array, caption?: string) =>
      descriptionOf(upload(api, "sendPhoto", "photo", bytes, caption));
    expect(await photo(makePng(2100, 100))).toBe("Bad Request: PHOTO_INVALID_DIMENSIONS");
    expect(await photo(makePng(9999, 2))).toBe("Bad Request: PHOTO_INVALID_DIMENSIONS");
    expect(await photo(Buffer.from("<html>"))).toBe("Bad Request: IMAGE_PROCESS_FAILED");
    expect(await photo(Buffer.concat([makePng(9, 9), Buffer.alloc(10 * 2 ** 20)]))).toMatch(
      /too big for a photo/,
    );
    expect(await photo(makePng(9, 9), "x".repeat(1025))).toBe("Bad Request: message caption is too long");
    expect(await descriptionOf(upload(api, "sendPhoto", "document", makePng(9, 9)))).toBe(
      "Bad Request: there is no photo in the request",
    );
    expect(await upload(api, "sendDocument", "document", makePng(2100, 100))).toMatchObject({ ok: true });
  });

  it("of people are found by getFile, byte for byte", async () => {
    await using api = await startLocalBotApi();
    const png = makePng(30, 20);
    api.post(ada, { photo: png });
    const { photo } = (await call(api, "getUpdates")).result[0].message;
    const areas = photo.map(({ width, height }: { width: number; height: number }) => width * height);
    const largest = photo[areas.indexOf(Math.max(...areas))];
    const { file_path, file_size } = (await call(api, "getFile", largest)).result;
    expect(file_size).toBe(png.length);
    const response = await fetch(`${api.root}/file/bot${api.token}/${file_path}`);
    expect(Buffer.compare(Buffer.from(await response.arrayBuffer()), png)).toBe(0);
    expect((await fetch(`${api.root}/file/bot1:other/${file_path}`)).status).toBe(401);
  });
});
