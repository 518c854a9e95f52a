/** A file to be uploaded. */
export interface Upload {
  readonly field: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** Options of a call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Default 30 000. */
  readonly timeoutMs?: number;
  /** Sent as multipart/form-data. */
  readonly upload?: Upload;
}

/** The Bot API over HTTP: one request for each call, without retries. */
export interface BotApi {
  /**
   * The `result` of a method.
   *
   * @throws TelegramError; the signal's reason when it aborts
   */
  call(method: string, params: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<unknown>;
  /**
   * A file that getFile named.
   *
   * @throws TooManyBytes, TelegramError; the signal's reason when it aborts
   */
  download(
    filePath: string,
    options: { readonly maxBytes: number; readonly signal?: AbortSignal },
  ): Promise<Uint8Array>;
}

/** A hundred updates are far smaller. */
const maxAnswerBytes = 16 * 2 ** 20;
const lateAnswer = "no answer in time";
const callTimeoutMs = 30_000;
const transferTimeoutMs = 120_000;

/**
 * A client of the Bot API. The token is part of every URL. So no URL leaves this module, no error contains
 * one, and no redirect is followed.
 *
 * @param root a server other than Telegram's
 * @throws RangeError for a malformed token
 * @see https://core.telegram.org/bots/api#making-requests read 2026-11-22
 */
export function botApi({
  token,
  root = "https://api.telegram.org",
}: {
  readonly token: string;
  readonly root?: string;
}): BotApi {
  if (!/^\d+:[\w-]+$/.test(token))
    throw new RangeError("token: expected digits, a colon, letters and digits");
  const hide = (text: string) => text.replaceAll(token, "<token>");

  async function request<T>(
    method: string,
    path: string,
    init: RequestInit,
    { signal, timeoutMs }: { readonly signal: AbortSignal | undefined; readonly timeoutMs: number },
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(lateAnswer), timeoutMs);
    const abort = () => ending.abort();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await read(await fetch(`${root}${path}`, { ...init, signal: ending.signal, redirect: "error" }));
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TelegramError || error instanceof TooManyBytes) throw error;
      throw new TelegramError(method, error === lateAnswer ? lateAnswer : hide(`no answer${whyOf(error)}`));
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  return {
    call(
      method,
      params,
      { signal, upload, timeoutMs = upload === undefined ? callTimeoutMs : transferTimeoutMs } = {},
    ) {
      const init: RequestInit =
        upload === undefined
          ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(params) }
          : { method: "POST", body: formOf(params, upload) };
      return request(method, `/bot${token}/${method}`, init, { signal, timeoutMs }, async (response) => {
        const bytes = await readBounded(response, maxAnswerBytes).catch((error: unknown) => {
          throw error instanceof TooManyBytes ? new TelegramError(method, error.message) : error;
        });
        return resultOf(method, response.status, hide(new TextDecoder().decode(bytes)));
      });
    },
    async download(filePath, { maxBytes, signal }) {
      const segments = filePath.split("/");
      if (segments.some((segment) => segment === "" || segment === "." || segment === "..")) {
        throw new TelegramError("download", "the path of the file is none");
      }
      const path = `/file/bot${token}/${segments.map(encodeURIComponent).join("/")}`;
      return request("download", path, {}, { signal, timeoutMs: transferTimeoutMs }, async (response) => {
        if (response.ok) return readBounded(response, maxBytes);
        await response.body?.cancel();
        throw new TelegramError("download", "refused", { code: response.status });
      });
    },
  };
}

function formOf(
  params: Readonly<Record<string, unknown>>,
  { field, name, mediaType, bytes }: Upload,
): FormData {
  const form = new FormData();
  for (const [key, value] of Object.entries(params)) {
    form.append(key, typeof value === "string" ? value : JSON.stringify(value));
  }
  form.append(field, new Blob([Uint8Array.from(bytes)], { type: mediaType }), name);
  return form;
}

/**
 * A response is `{ ok, result }` or `{ ok, error_code, description, parameters }`, unless a proxy answers.
 */
function resultOf(method: string, status: number, text: string): unknown {
  const answer = fieldsOf(jsonOf(text));
  if (answer?.ok === true) return answer.result;
  const parameters = fieldsOf(answer?.parameters);
  const [retryAfter, migrateTo] = [parameters?.retry_after, parameters?.migrate_to_chat_id].map(integerOf);
  throw new TelegramError(method, textOf(answer?.description) ?? `status ${status}`, {
    code: integerOf(answer?.error_code) ?? status,
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(migrateTo === undefined ? {} : { migrateTo }),
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The system's code, such as ECONNREFUSED. The rest of a failed fetch may contain the URL. */
function whyOf(error: unknown): string {
  const code = textOf(fieldsOf(fieldsOf(error)?.cause)?.code);
  return code === undefined ? "" : ` (${code})`;
}

/** An object from outside, with unchecked fields. */
export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/**
 * An integer, and 0 for -0, which JSON has too. Ids have at most 52 significant bits:
 * https://core.telegram.org/bots/api#chat, read 2026-11-22.
 */
export function integerOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? (value as number) || 0 : undefined;
}

/** A failed call of the Bot API. It contains no token, no URL, and no cause that could have one. */
export class TelegramError extends Error {
  /** The code in the response, such as 400; absent without a response. */
  readonly code: number | undefined;
  /** Seconds to wait before the next call of the method. */
  readonly retryAfter: number | undefined;
  /** The id of the supergroup that the chat has become. */
  readonly migrateTo: number | undefined;

  constructor(
    method: string,
    description: string,
    facts: { readonly code?: number; readonly retryAfter?: number; readonly migrateTo?: number } = {},
  ) {
    super(`${method}: ${description}`);
    this.name = "TelegramError";
    this.code = facts.code;
    this.retryAfter = facts.retryAfter;
    this.migrateTo = facts.migrateTo;
  }
}

/** The body has more bytes than allowed. */
export class TooManyBytes extends Error {
  constructor(readonly maxBytes: number) {
    super(`more than ${maxBytes} bytes`);
  }
}

/** Reads the body of a response, at most one chunk past the limit. */
async function readBounded(response: Response, maxBytes: number): Promise<Uint8Array> {
  if (Number(response.headers.get("content-length") ?? 0) > maxBytes) {
    await response.body?.cancel();
    throw new TooManyBytes(maxBytes);
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    // Leaving the loop cancels the body, which closes the connection.
    if (length > maxBytes) throw new TooManyBytes(maxBytes);
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
