/** Estimates the tokens of a message and its attachments, of an image, and of the tools of a request. */

import { describe, integerArgument, unreachable } from "../../core/arguments.js";
import { jsonPieces } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { modelFacts, type TokenFacts } from "../../providers/models/internal.js";
import {
  type ContextMessage,
  describeResource,
  type ImageBlock,
  type OpaqueBlock,
  type ReplayDecision,
  type StoredResource,
  type TextBlock,
  type ThinkingBlock,
  type ToolCall,
} from "../index.js";
import { opaqueMedia, withReferences } from "../internal.js";
import { type TextEstimator, textEstimator } from "./text.js";

/** Options of {@link estimateMessageTokens}. */
export interface MessageTokenOptions {
  /**
   * Counts as this model does, by any form of its name: its vocabulary, images and pages, and the tokens that
   * frame a message and a call. The other options take precedence.
   */
  readonly model?: string | undefined;
  /** @default "fitted" */
  readonly text?: TextEstimator | undefined;
  /** The cost of an image: a family's name, or a rule. @default "anthropic", or by `model` */
  readonly image?: ImageFamily | ImageTokenRule | undefined;
  /** The cost of a PDF page. @default "anthropic", or by `model` */
  readonly pdf?: PdfFamily | undefined;
  /**
   * The part of an attachment that is sent: pass the decision of the projection. `full` also counts the
   * description, which is sent beside the bytes. By default the description alone.
   */
  readonly replay?: (resource: StoredResource) => ReplayDecision;
}

/**
 * Estimates the tokens of a message, rounded up: its text, thinking, tool calls with their arguments, images
 * and attachments. Signatures, `details` and messages excluded from context count 0, and without a `model`
 * the provider's framing tokens too. An image of unknown size counts as the largest one. `{ text: "chars/4", image: { kind: "flat",
 * tokens: 1200 } }` counts as pi 0.73.1 does, except that pi counts 0 for images of users.
 *
 * @throws TypeError if `message` is not a message
 * @example
 * ```ts
 * estimateMessageTokens(userMessage("What is wrong here?")); // 5
 * estimateMessageTokens(userMessage("What is wrong here?"), { text: "chars/4" }); // 5
 * ```
 */
export function estimateMessageTokens(message: ContextMessage, options: MessageTokenOptions = {}): number {
  const { model } = options;
  if (model === undefined) return contentOfMessage(message, options);
  const { tokens, image, pdf } = modelFacts(model);
  const counted = contentOfMessage(message, {
    ...options,
    text: options.text ?? { model },
    image: options.image ?? image,
    pdf: options.pdf ?? pdf,
  });
  if (message.role === "bashExecution" && message.excludeFromContext === true) return counted;
  const calls = message.role === "assistant" ? message.content.filter(({ type }) => type === "toolCall") : [];
  return Math.ceil(counted + tokens.message + tokens.call * calls.length);
}

function contentOfMessage(message: ContextMessage, options: MessageTokenOptions): number {
  const role: unknown = (message as { readonly role?: unknown } | null | undefined)?.role;
  if (typeof role !== "string") throw new TypeError(`message.role: expected a string, got ${describe(role)}`);
  const text = textEstimator(options.text);
  const content = (blocks: Content) => contentTokens(blocks, text, options);
  switch (message.role) {
    case "user":
    case "assistant":
    case "toolResult":
    case "custom":
      return Math.ceil(content(message.content));
    case "system": {
      const sections = Object.values(message.sections ?? {}).reduce(
        (sum, section) => sum + (section === null ? 0 : text(section)),
        0,
      );
      const tools = message.toolsAdded === undefined ? 0 : jsonTokens(message.toolsAdded, text);
      return Math.ceil(content(message.content) + sections + tools);
    }
    case "bashExecution":
      return message.excludeFromContext === true
        ? 0
        : Math.ceil(text(message.command) + text(message.output));
    case "compactionSummary":
    case "branchSummary":
      return Math.ceil(text(message.summary));
    default:
      return unreachable(message);
  }
}

type CountText = (text: string) => number;
type Block = TextBlock | ImageBlock | ThinkingBlock | ToolCall | OpaqueBlock;
type Content = string | readonly Block[];

function contentTokens(content: Content, text: CountText, options: MessageTokenOptions): number {
  if (typeof content === "string") return text(content);
  return content.reduce((sum, block) => sum + blockTokens(block, text, options), 0);
}

function blockTokens(block: Block, text: CountText, options: MessageTokenOptions): number {
  switch (block.type) {
    case "text":
      return block.resource?.kind === "image" || block.resource?.kind === "file"
        ? resourceTokens(block.text, block.resource, text, options)
        : text(block.text);
    case "thinking":
      return text(block.thinking);
    case "image":
      return mostImageTokens(options.image ?? "anthropic");
    case "toolCall":
      return text(block.name) + jsonTokens(block.arguments, text);
    case "opaque": {
      const inline = opaqueMedia(block.data);
      const data = inline.length === 0 ? block.data : withReferences(block.data, () => "");
      const stored = (block.resources ?? []).map((resource) =>
        resourceTokens(describeResource(resource), resource, text, options),
      );
      const images = inline.filter(({ imageType }) => imageType !== undefined).length;
      const most = images === 0 ? 0 : images * mostImageTokens(options.image ?? "anthropic");
      return stored.reduce((sum, tokens) => sum + tokens, jsonTokens(data, text) + most);
    }
    default:
      return unreachable(block);
  }
}

function resourceTokens(
  description: string,
  resource: StoredResource,
  text: CountText,
  { image = "anthropic", pdf = "anthropic", replay }: MessageTokenOptions,
): number {
  const decision = replay?.(resource) ?? "describe";
  if (decision === "omit") return 0;
  const described = text(description);
  return decision === "describe" ? described : described + estimateResourceTokens(resource, { image, pdf });
}

function jsonTokens(value: unknown, text: CountText): number {
  let tokens = 0;
  for (const piece of jsonPieces(value)) tokens += text(piece);
  return tokens;
}

/**
 * The maximum tokens of a PDF page: its text, and on Claude its picture.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/pdf-support (stored copy, 2026-11-21): 1500 to
 *   3000 for the text of a page, and the cost of an image; users measured 2750 to 3150 for both together
 * @see https://ai.google.dev/gemini-api/docs/document-processing (stored copy, 2026-11-21)
 */
const pageTokens: Readonly<Record<PdfFamily, number>> = { anthropic: 3000 + 1568, gemini: 258 };

/** A provider with a known price for a PDF page. */
export type PdfFamily = "anthropic" | "gemini";

/** A guess, for a PDF whose pages cannot be counted. */
const bytesPerPage = 50_000;
/** Between prose and compact JSON. */
const bytesPerToken = 3;

/** The properties of an attachment that its cost depends on. A stored resource has them. */
interface AttachmentSize {
  readonly mediaType: string;
  readonly size: number;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** Of a PDF. If unknown, its size decides. */
  readonly pages?: number | undefined;
}

/**
 * Estimates the tokens of an attachment's bytes in a request. An image of unknown size counts as the largest
 * one. A file that is neither PDF nor text counts 0.
 *
 * @param rules for images a family's name or a rule, for PDF a family's name; both are `anthropic` by default
 * @throws RangeError for a PDF whose `size` is not an integer >= 0; TypeError for an unknown family
 * @example
 * ```ts
 * const tokens = estimateResourceTokens(screenshot, { image: "gemini3" });
 * ```
 */
export function estimateResourceTokens(
  { mediaType, size, width, height, pages }: AttachmentSize,
  rules: {
    readonly image?: ImageFamily | ImageTokenRule | undefined;
    readonly pdf?: PdfFamily | undefined;
  } = {},
): number {
  const { image = "anthropic", pdf = "anthropic" } = rules;
  if (mediaType.startsWith("image/")) {
    const isKnown = isCount(width) && isCount(height);
    return isKnown ? estimateImageTokens({ width, height }, image) : mostImageTokens(image);
  }
  if (mediaType === "application/pdf") return pdfTokens(size, pages, pdf);
  return mediaType.startsWith("text/") ? Math.ceil(size / bytesPerToken) : 0;
}

function isCount(value: number | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

function pdfTokens(size: number, pages: number | undefined, family: PdfFamily): number {
  if (!Object.hasOwn(pageTokens, family)) {
    const names = Object.keys(pageTokens).join(", ");
    throw new TypeError(`pdf: expected one of ${names}, got ${describe(family)}`);
  }
  const guess = Math.max(1, Math.ceil(integerArgument("size", size, 0) / bytesPerPage));
  return (isCount(pages) ? pages : guess) * pageTokens[family];
}

// Estimates the tokens of an image by the rules of a model family.

/**
 * How a family of models counts an image.
 *
 * - `grid`: 28-px cells of the image, scaled down to a longest side and a number of cells.
 * - `patches`: 32-px patches, shrunk to a budget, times the model's multiplier.
 * - `tiles`: a base, and 512-px tiles of the image with a short side of at most 768. Low detail is the base
 *   alone.
 * - `crops`: tiles as large as the shorter side allows.
 * - `flat`: a constant.
 */
export type ImageTokenRule =
  | { readonly kind: "grid"; readonly maxSide: number; readonly maxTokens: number }
  | {
      readonly kind: "patches";
      readonly budget: number;
      readonly multiplier: number;
      readonly maxSide?: number;
    }
  | { readonly kind: "tiles"; readonly base: number; readonly tile: number; readonly detail?: "low" }
  | { readonly kind: "crops"; readonly tile: number }
  | { readonly kind: "flat"; readonly tokens: number };

/**
 * The known families of models, by name.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/vision (stored copy, 2026-11-21): `anthropic`,
 *   and `anthropicLarge` for models from 4.7
 * @see https://developers.openai.com/api/docs/guides/images-vision (stored copy, 2026-11-21). `openaiPatches`
 *   is 5.2, `openaiHigh` and `openaiOriginal` the details of that name on 5.4 and 5.5. Users measured 1.2
 *   instead of 1.62 for `openaiMini` in June 2026; this table keeps the larger figure of the guide.
 * @see https://ai.google.dev/gemini-api/docs/media-resolution (stored copy, 2026-11-21): `gemini3` is its
 *   default, high
 */
export const imageTokenRules = {
  anthropic: { kind: "grid", maxSide: 1568, maxTokens: 1568 },
  anthropicLarge: { kind: "grid", maxSide: 2576, maxTokens: 4784 },
  openaiPatches: { kind: "patches", budget: 1536, multiplier: 1 },
  openaiMini: { kind: "patches", budget: 1536, multiplier: 1.62 },
  openaiNano: { kind: "patches", budget: 1536, multiplier: 2.46 },
  openaiO4Mini: { kind: "patches", budget: 1536, multiplier: 1.72 },
  openaiHigh: { kind: "patches", budget: 2500, multiplier: 1 },
  openaiOriginal: { kind: "patches", budget: 10_000, multiplier: 1, maxSide: 6000 },
  openai4o: { kind: "tiles", base: 85, tile: 170 },
  openai5: { kind: "tiles", base: 70, tile: 140 },
  openai4oMini: { kind: "tiles", base: 2833, tile: 5667 },
  openaiO: { kind: "tiles", base: 75, tile: 150 },
  gemini2: { kind: "crops", tile: 258 },
  gemini3Low: { kind: "flat", tokens: 280 },
  gemini3Medium: { kind: "flat", tokens: 560 },
  gemini3: { kind: "flat", tokens: 1120 },
  gemini3Ultra: { kind: "flat", tokens: 2240 },
} as const satisfies Readonly<Record<string, ImageTokenRule>>;

/** The name of a family of {@link imageTokenRules}. */
export type ImageFamily = keyof typeof imageTokenRules;

/** The size of an image in pixels. */
interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** The tolerance for a computed side that should be whole. */
const roundingError = 1e-9;
const cells = (side: number, cell: number): number => Math.max(1, Math.ceil(side / cell - roundingError));

/**
 * The tokens of an image by its size, a whole number.
 *
 * @param rule a family's name, or a rule of your own
 * @throws RangeError if a side is not an integer >= 1; TypeError for an unknown family, or if `size` is not
 *   an object
 * @example
 * ```ts
 * estimateImageTokens({ width: 1920, height: 1080 }, "anthropic"); // 1560
 * estimateImageTokens({ width: 1024, height: 1024 }, "openai4o"); // 765
 * estimateImageTokens({ width: 960, height: 540 }, { kind: "flat", tokens: 100 }); // 100
 * ```
 */
export function estimateImageTokens(size: ImageSize, rule: ImageFamily | ImageTokenRule): number {
  if (typeof size !== "object" || size === null) {
    throw new TypeError(`size: expected an object, got ${describe(size)}`);
  }
  const width = integerArgument("width", size.width, 1);
  const height = integerArgument("height", size.height, 1);
  const known = imageRule(rule);
  switch (known.kind) {
    case "grid":
      return gridTokens(width, height, known.maxSide, known.maxTokens);
    case "patches":
      return Math.ceil(
        patchCount(width, height, known.budget, known.maxSide) * known.multiplier - roundingError,
      );
    case "tiles":
      return known.detail === "low" ? known.base : known.base + known.tile * tileCount(width, height);
    case "crops":
      return known.tile * cropCount(width, height);
    case "flat":
      return known.tokens;
    default:
      return unreachable(known);
  }
}

/** The maximum cost of an image by a rule, for an image of unknown size. Crops are unbounded: counts 16. */
export function mostImageTokens(rule: ImageFamily | ImageTokenRule): number {
  const known = imageRule(rule);
  switch (known.kind) {
    case "grid":
      return known.maxTokens;
    case "patches":
      return Math.ceil(known.budget * known.multiplier);
    case "tiles":
      return known.detail === "low" ? known.base : known.base + known.tile * mostTiles;
    case "crops":
      return known.tile * unknownCrops;
    case "flat":
      return known.tokens;
    default:
      return unreachable(known);
  }
}

/** 2048 by 768 pixels. */
const mostTiles = 8;
const unknownCrops = 16;

function imageRule(rule: ImageFamily | ImageTokenRule): ImageTokenRule {
  if (typeof rule === "object" && rule !== null) return rule;
  if (!Object.hasOwn(imageTokenRules, rule)) {
    throw new TypeError(
      `rule: expected one of ${Object.keys(imageTokenRules).join(", ")}, got ${describe(rule)}`,
    );
  }
  return imageTokenRules[rule];
}

/** Cells of the image, scaled down to fit if necessary. The short side rounds half to even. */
function gridTokens(width: number, height: number, maxSide: number, maxTokens: number): number {
  const cell = 28;
  const [long, short] = width > height ? [width, height] : [height, width];
  const count = (side: number) => cells(side, cell) * cells(roundHalfEven((side * short) / long), cell);
  const fits = (side: number) => cells(side, cell) * cell <= maxSide && count(side) <= maxTokens;
  if (fits(long)) return count(long);
  let [least, most] = [1, Math.min(long, maxSide)];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (fits(middle)) least = middle;
    else most = middle - 1;
  }
  return count(least);
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** Patches of the image, shrunk by the square root of its excess, then until one side is whole patches. */
function patchCount(
  width: number,
  height: number,
  budget: number,
  maxSide = Number.POSITIVE_INFINITY,
): number {
  const patch = 32;
  const fit = Math.min(1, maxSide / Math.max(width, height));
  const [w, h] = [width * fit, height * fit];
  const count = cells(w, patch) * cells(h, patch);
  if (count <= budget) return count;
  const shrink = Math.min(1, Math.sqrt((patch * patch * budget) / (w * h)));
  const [across, down] = [(w * shrink) / patch, (h * shrink) / patch];
  // A side below one patch counts as one.
  const whole = Math.min(Math.max(1, Math.floor(across)) / across, Math.max(1, Math.floor(down)) / down, 1);
  return Math.min(budget, cells(across * whole, 1) * cells(down * whole, 1));
}

function tileCount(width: number, height: number): number {
  const square = Math.min(1, 2048 / Math.max(width, height));
  const short = Math.min(1, 768 / (Math.min(width, height) * square));
  return cells(width * square * short, 512) * cells(height * square * short, 512);
}

function cropCount(width: number, height: number): number {
  if (width <= 384 && height <= 384) return 1;
  const unit = Math.max(1, Math.floor(Math.min(width, height) / 1.5));
  return cells(width, unit) * cells(height, unit);
}

// Estimates the tokens of the tools of a request, in the form of any provider.

/** A tool, read from any provider's form. */
interface Tool {
  readonly name: string;
  readonly description?: unknown;
  readonly schema?: unknown;
}

/** Deeper schemas are not counted. */
const maxDepth = 32;

/**
 * Estimates the tokens of the tools of a request, rounded up: their declarations, and the instructions that a
 * provider adds if there is any tool.
 *
 * @param tools a list in the form of Anthropic, OpenAI, Gemini, Bedrock or MCP, or an object of the AI SDK's
 * @param model selects the form in which the model reads tools
 * @throws TypeError if `model` is no string
 * @example
 * ```ts
 * const read = { name: "read", description: "Reads a file", input_schema: { type: "object" } };
 * estimateToolTokens([read], "claude-opus-5-5"); // 424
 * ```
 */
export function estimateToolTokens(tools: unknown, model: string): number {
  if (typeof model !== "string") throw new TypeError(`model: expected a string, got ${describe(model)}`);
  const all = readTools(tools, 0);
  if (all.length === 0) return 0;
  const facts = modelFacts(model).tokens;
  const text = textEstimator({ model });
  const declared = all.reduce((sum, tool) => sum + toolTokens(tool, facts, text), 0);
  return Math.ceil(facts.tools + facts.tool * (all.length - 1) + declared);
}

function toolTokens(
  { name, description, schema }: Tool,
  { property }: TokenFacts,
  text: (text: string) => number,
): number {
  if (property !== undefined)
    return stringTokens([name, description], text) + schemaTokens(schema, property, text, 0);
  let tokens = 0;
  for (const piece of jsonPieces({ name, description, input_schema: schema })) tokens += text(piece);
  return tokens;
}

/** The words of a schema, and `property` for each property. Names of types and marks are part of that. */
function schemaTokens(
  schema: unknown,
  property: number,
  text: (text: string) => number,
  depth: number,
): number {
  if (depth > maxDepth) return 0;
  if (Array.isArray(schema))
    return schema.reduce<number>((sum, one) => sum + schemaTokens(one, property, text, depth + 1), 0);
  if (!isRecord(schema)) return 0;
  const own = stringTokens([schema.description, ...(Array.isArray(schema.enum) ? schema.enum : [])], text);
  const properties = isRecord(schema.properties) ? Object.entries(schema.properties) : [];
  const inner = [schema.items, schema.anyOf, schema.oneOf, schema.allOf, schema.$defs].map((one) =>
    isRecord(one) && one === schema.$defs ? Object.values(one) : one,
  );
  return properties.reduce(
    (sum, [name, value]) => sum + property + text(name) + schemaTokens(value, property, text, depth + 1),
    own + schemaTokens(inner, property, text, depth + 1),
  );
}

function stringTokens(values: readonly unknown[], text: (text: string) => number): number {
  return values.reduce<number>((sum, value) => sum + (typeof value === "string" ? text(value) : 0), 0);
}

function readTools(value: unknown, depth: number): readonly Tool[] {
  if (depth > 4) return [];
  if (Array.isArray(value)) return value.flatMap((one) => readTools(one, depth + 1));
  if (!isRecord(value)) return [];
  for (const list of ["functionDeclarations", "function_declarations", "tools"])
    if (Array.isArray(value[list])) return readTools(value[list], depth + 1);
  for (const wrapper of ["function", "toolSpec", "custom"])
    if (isRecord(value[wrapper])) return readTools(value[wrapper], depth + 1);
  if (typeof value.name === "string") return [toolByName(value.name, value)];
  // Tools of a provider, such as `{ type: "web_search" }` and `{ googleSearch: {} }`, are its own to count.
  return Object.entries(value).flatMap(([name, tool]) =>
    isRecord(tool) && ("inputSchema" in tool || "parameters" in tool || "description" in tool)
      ? [toolByName(name, tool)]
      : [],
  );
}

function toolByName(name: string, tool: Readonly<Record<string, unknown>>): Tool {
  const { description, input_schema, inputSchema, parameters, parametersJsonSchema } = tool;
  const schema = input_schema ?? inputSchema ?? parameters ?? parametersJsonSchema;
  const wrapped = isRecord(schema) ? (schema.json ?? schema.jsonSchema) : undefined;
  return { name, description, schema: wrapped ?? schema };
}
