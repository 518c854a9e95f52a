/** More bytes came than were asked for. */
export class TooManyBytes extends Error {
  constructor(readonly maxBytes: number) {
    super(`more than ${maxBytes} bytes`);
  }
}

/** The body of a response, read no further than one chunk past the limit, whatever its headers say. */
export async function readBounded(response: Response, maxBytes: number): Promise<Uint8Array> {
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
