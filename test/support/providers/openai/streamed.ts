/** Whole replies of both OpenAI protocols as the events of a stream, each text in pieces of a few characters. */

type Fields = Record<string, unknown>;

const pieces = (whole: string, size: number): readonly string[] =>
  Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => whole.slice(at * size, (at + 1) * size));

/** A completion as chunks. Mistral's list of content becomes a list of thinking, then plain text. */
export function chatStreamed(reply: object, size: number): readonly object[] {
  const { choices, usage, ...rest } = reply as Fields & { choices: readonly Fields[] };
  const { message, finish_reason, ...ending } = choices[0] as Fields & { message: Fields };
  const chunk = (delta: object, more: object = {}) => ({
    ...rest,
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
  });
  const { role, content, tool_calls: calls, function_call: fn, audio, refusal, ...members } = message;
  const deltas: object[] = [{ role }];
  for (const [name, value] of Object.entries(members)) {
    if (typeof value !== "string") deltas.push({ [name]: value });
    else for (const piece of pieces(value, size)) deltas.push({ [name]: piece });
  }
  for (const piece of contentPieces(content, size)) deltas.push({ content: piece });
  for (const piece of typeof refusal === "string" ? pieces(refusal, size) : [])
    deltas.push({ refusal: piece });
  if (Array.isArray(calls)) {
    (calls as readonly Fields[]).forEach((call, index) => {
      for (const piece of callPieces(call, size)) deltas.push({ tool_calls: [{ index, ...piece }] });
    });
  }
  if (fn !== undefined) {
    for (const piece of callPieces({ function: fn }, size)) deltas.push({ function_call: piece.function });
  }
  for (const piece of audioPieces(audio, size)) deltas.push({ audio: piece });
  return [
    ...deltas.map((delta) => chunk(delta)),
    chunk({}, { ...ending, finish_reason }),
    ...(usage === undefined ? [] : [{ ...rest, choices: [], usage }]),
  ];
}

function contentPieces(content: unknown, size: number): readonly unknown[] {
  if (typeof content === "string") return pieces(content, size);
  if (!Array.isArray(content)) return [content];
  const list = content as readonly Fields[];
  return list.flatMap((part, at): readonly unknown[] => {
    const text = part.type === "text" ? part.text : undefined;
    if (typeof text === "string" && at === list.length - 1) return pieces(text, size);
    if (typeof text === "string") return pieces(text, size).map((piece) => [{ ...part, text: piece }]);
    const { thinking } = part;
    if (!Array.isArray(thinking)) return [[part]];
    return (thinking as readonly Fields[]).flatMap((one) =>
      pieces(String(one.text), size).map((piece) => [{ ...part, thinking: [{ ...one, text: piece }] }]),
    );
  });
}

function callPieces(call: Fields, size: number): readonly Fields[] {
  const { function: fn, custom, ...rest } = call;
  const [member, said] = custom === undefined ? ["function", fn as Fields] : ["custom", custom as Fields];
  const text = member === "custom" ? "input" : "arguments";
  const { [text]: whole, ...named } = said;
  const after = typeof whole === "string" ? pieces(whole, size) : [];
  return [
    { ...rest, [member]: { ...named, ...(typeof whole === "string" ? {} : { [text]: whole }) } },
    ...after.map((piece) => ({ [member]: { [text]: piece } })),
  ];
}

function audioPieces(audio: unknown, size: number): readonly object[] {
  if (typeof audio !== "object" || audio === null) return [];
  const { id, transcript, data, expires_at } = audio as Fields;
  return [
    { id },
    ...pieces(String(transcript ?? ""), size).map((piece) => ({ transcript: piece })),
    // Each piece of base64 is padded by itself or not at all; four characters are whole bytes.
    ...pieces(String(data ?? ""), 4 * size).map((piece) => ({ data: piece })),
    { expires_at },
  ];
}

/** A response as events: each item begins, grows and is done. */
export function responsesStreamed(reply: object, size: number): readonly object[] {
  const whole = reply as Fields & { output: readonly Fields[] };
  const begun = { ...whole, status: "in_progress", output: [], usage: null };
  return [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...whole.output.flatMap((item, index) => itemStreamed(item, index, size)),
    {
      type: whole.status === "incomplete" ? "response.incomplete" : "response.completed",
      response: whole,
    },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));
}

function itemStreamed(item: Fields, output_index: number, size: number): readonly object[] {
  const { id: item_id, type } = item;
  const at = { output_index, item_id };
  const added: Fields = { ...item, status: "in_progress" };
  const between: object[] = [];
  const grow = (event: string, text: unknown, more: object = {}) => {
    for (const delta of pieces(String(text), size))
      between.push({ type: `response.${event}.delta`, ...at, ...more, delta });
  };
  if (type === "message") {
    added.content = [];
    (item.content as readonly Fields[]).forEach((part, content_index) => {
      const isText = part.type === "output_text";
      if (!isText && part.type !== "refusal") return;
      grow(isText ? "output_text" : "refusal", isText ? part.text : part.refusal, { content_index });
    });
  } else if (type === "reasoning") {
    added.summary = [];
    delete added.content;
    ((item.summary ?? []) as readonly Fields[]).forEach(({ text }, summary_index) => {
      grow("reasoning_summary_text", text, { summary_index });
    });
    // The reader shows the summary if there is one.
    const content = between.length === 0 ? ((item.content ?? []) as readonly Fields[]) : [];
    content.forEach(({ text }, content_index) => {
      grow("reasoning_text", text, { content_index });
    });
  } else if (type === "function_call") {
    added.arguments = "";
    grow("function_call_arguments", item.arguments);
  } else if (type === "custom_tool_call") {
    added.input = "";
    grow("custom_tool_call_input", item.input);
  }
  return [
    { type: "response.output_item.added", output_index, item: added },
    ...between,
    { type: "response.output_item.done", output_index, item },
  ];
}
