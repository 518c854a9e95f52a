import { type Decoded, decodedMedia, isOfType } from "../bytes-of-type.js";
import type { Fault, ProviderRule } from "../rule.js";
import {
  allBlocks,
  type BedrockRequest,
  constraint,
  isClaude,
  messagesOf,
  record,
  type WireRecord,
} from "./wire.js";

type Rule = ProviderRule<BedrockRequest>;

const reference = "https://docs.aws.amazon.com/bedrock/latest/APIReference";
const message = `${reference}/API_runtime_Message.html`;
const read = "(read 2026-11-21)";

/** An image or document, wherever it stands. */
interface Medium {
  readonly path: string;
  readonly fields: WireRecord;
  readonly source: WireRecord;
  readonly decoded: Decoded | undefined;
}

function mediaOf(request: BedrockRequest, kind: "image" | "document"): readonly Medium[] {
  return allBlocks(request)
    .filter((block) => block.kind === kind)
    .map(({ path, value }) => {
      const fields = record(value);
      const source = record(fields.source);
      return { path: `${path}.${kind}`, fields, source, decoded: decodedMedia(source.bytes) };
    });
}

const imageTypes = ["png", "jpeg", "gif", "webp"];
const imageFormats: Rule = {
  id: "image-formats",
  source: `${reference}/API_runtime_ImageBlock.html; case counts: https://github.com/NousResearch/hermes-agent/issues/55429 ${read}`,
  check: (request) =>
    mediaOf(request, "image")
      .filter(({ fields }) => !imageTypes.includes(String(fields.format)))
      .map(({ path }) =>
        constraint(`${path}.format`, "Member must satisfy enum value set: [gif, jpeg, png, webp]"),
      ),
};

const sources: Rule = {
  id: "media-have-one-source",
  source: `${reference}/API_runtime_ImageSource.html and ${reference}/API_runtime_DocumentSource.html; text wants citations: https://github.com/strands-agents/harness-sdk/pull/3582 ${read}`,
  check: (request) =>
    [...mediaOf(request, "image"), ...mediaOf(request, "document")]
      .filter(({ path, source, fields }) => {
        const [kind, ...others] = Object.keys(source);
        if (others.length > 0) return true;
        const cited = path.endsWith(".document") && record(fields.citations).enabled === true;
        return !(kind === "bytes" || kind === "s3Location" || (cited && kind === "text"));
      })
      .map(({ path }) => ({
        path: `${path}.source`,
        problem: `${path.endsWith("image") ? "Image" : "Document"}Source object at ${path}.source must set one of the following keys: bytes, s3Location.`,
      })),
};

const locations: Rule = {
  id: "s3-locations",
  source: `${reference}/API_runtime_S3Location.html ${read}`,
  check: (request) =>
    [...mediaOf(request, "image"), ...mediaOf(request, "document")].flatMap(
      ({ path, source: { s3Location } }) =>
        s3Location === undefined || /^s3:\/\/[a-z0-9.-]{3,63}\/./.test(String(record(s3Location).uri))
          ? []
          : [
              constraint(
                `${path}.source.s3Location.uri`,
                "Member must satisfy regular expression pattern: s3://[a-z0-9][\\.\\-a-z0-9]{1,61}[a-z0-9](/.*)?",
              ),
            ],
    ),
};

const imageBytes: Rule = {
  id: "images-are-what-they-say",
  source: `https://github.com/boto/boto3/issues/4415 and https://github.com/NousResearch/hermes-agent/pull/33536 ${read}`,
  check: (request) =>
    mediaOf(request, "image")
      .filter(({ source, fields, decoded }) => {
        const right = decoded !== undefined && isOfType(decoded, `image/${fields.format}`);
        return source.bytes !== undefined && imageTypes.includes(String(fields.format)) && !right;
      })
      .map(({ path }) => ({
        path: `${path}.source`,
        problem: `The model returned the following errors: ${path}.source: The provided image does not match the specified image format.`,
      })),
};

const maxImageBytes = 3_750_000;
const maxSide = 8000;
const imageSizes: Rule = {
  id: "image-sizes",
  source: `${message} (3.75 MB, 8000 px each) ${read}`,
  check: (request) =>
    mediaOf(request, "image")
      .filter(({ decoded }) => {
        const { width = 0, height = 0 } = decoded?.media?.kind === "image" ? decoded.media : {};
        const side = Math.max(width, height);
        return side > maxSide || (decoded?.bytes.length ?? 0) > maxImageBytes;
      })
      .map(({ path }) => ({
        path: `${path}.source`,
        problem: `The model returned the following errors: ${path}.source.bytes: image exceeds the maximum of ${maxImageBytes} bytes or ${maxSide} pixels`,
      })),
};

const maxImages = 20;
const imageCount: Rule = {
  id: "image-count",
  source: `${message} (20 images); over the request, and with Claude documents too: https://github.com/cline/cline/issues/1844 and https://github.com/boto/boto3/issues/4632 ${read}`,
  check: (request) => {
    const images = mediaOf(request, "image").length;
    const documents = isClaude(request.model) ? mediaOf(request, "document").length : 0;
    return images + documents <= maxImages
      ? []
      : [
          {
            path: "messages",
            problem: `The model returned the following errors: too many images and documents: ${images} + ${documents} > ${maxImages}`,
          },
        ];
  },
};

const documentFormats: Readonly<Record<string, string>> = {
  pdf: "application/pdf",
  csv: "text/csv",
  doc: "application/msword",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xls: "application/vnd.ms-excel",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  html: "text/html",
  txt: "text/plain",
  md: "text/markdown",
};

const formats: Rule = {
  id: "document-formats",
  source: `${reference}/API_runtime_DocumentBlock.html ${read}`,
  check: (request) =>
    mediaOf(request, "document")
      .filter(({ fields }) => documentFormats[String(fields.format)] === undefined)
      .map(({ path }) =>
        constraint(
          `${path}.format`,
          `Member must satisfy enum value set: [${Object.keys(documentFormats).join(", ")}]`,
        ),
      ),
};

const documentBytes: Rule = {
  id: "documents-are-what-they-say",
  source: `https://github.com/maximhq/bifrost/issues/4622 ${read}`,
  check: (request) =>
    mediaOf(request, "document")
      .filter(({ source, fields: { format }, decoded }) => {
        const type = documentFormats[String(format)];
        return (
          source.bytes !== undefined &&
          type !== undefined &&
          (decoded === undefined || !isOfType(decoded, type))
        );
      })
      .map(({ path }) => ({
        path: `${path}.source`,
        problem: `The model returned the following errors: ${path}.source: The document could not be read in the specified format.`,
      })),
};

const maxDocumentBytes = 4_500_000;
const documentSizes: Rule = {
  id: "document-sizes",
  source: `${message} (4.5 MB each) ${read}`,
  check: (request) =>
    mediaOf(request, "document")
      .filter(({ decoded }) => (decoded?.bytes.length ?? 0) > maxDocumentBytes)
      .map(({ path }) => ({
        path,
        problem: `The document at ${path} exceeds the maximum document size of ${maxDocumentBytes} bytes.`,
      })),
};

const maxDocuments = 5;
const documentCount: Rule = {
  id: "document-count",
  source: `https://github.com/aws-samples/generative-ai-use-cases/issues/1685 and ${message} ${read}`,
  check: (request) => {
    const over = mediaOf(request, "document")[maxDocuments];
    return over === undefined
      ? []
      : [{ path: over.path, problem: `You can't include more than ${maxDocuments} documents in a request.` }];
  },
};

const names: Rule = {
  id: "document-names",
  source: `${reference}/API_runtime_DocumentBlock.html (name); white space is U+0020: https://github.com/aws-samples/generative-ai-use-cases/issues/1671 ${read}`,
  check: (request) =>
    mediaOf(request, "document")
      .filter(({ fields: { name } }) => !isDocumentName(name))
      .map(({ path }) => ({
        path: `${path}.name`,
        problem:
          "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets. " +
          "The name can't contain more than one consecutive whitespace character. Check that the file name conforms to these restrictions and retry your request.",
      })),
};

function isDocumentName(name: unknown): boolean {
  return (
    typeof name === "string" &&
    name.length <= 200 &&
    /^[A-Za-z0-9 ()[\]-]+$/.test(name) &&
    !name.includes("  ")
  );
}

const uniqueNames: Rule = {
  id: "document-names-are-unique",
  source: `https://github.com/maximhq/bifrost/issues/7003 and https://github.com/ag-ui-protocol/ag-ui/issues/2425 (over the request) ${read}`,
  check: (request) => {
    const seen = new Set<unknown>();
    return mediaOf(request, "document").flatMap(({ path, fields: { name } }): Fault[] => {
      if (!seen.has(name)) {
        seen.add(name);
        return [];
      }
      return [
        {
          path: `${path}.name`,
          problem:
            "Messages can't contain duplicate document names. Rename the document and retry your request.",
        },
      ];
    });
  },
};

const textBeside: Rule = {
  id: "a-document-has-text-beside-it",
  source: `${message}; seen in https://github.com/maximhq/bifrost/pull/5817 ${read}`,
  check: (request) =>
    messagesOf(request)
      .filter(({ content }) => {
        const kinds = content.map(({ kind }) => kind);
        return kinds.includes("document") && !kinds.includes("text");
      })
      .map(({ path }) => ({ path, problem: "A text block must be included when using documents." })),
};

/** Images and documents: formats, bytes, sizes, counts and names. */
export const mediaRules: readonly Rule[] = [
  imageFormats,
  sources,
  locations,
  imageBytes,
  imageSizes,
  imageCount,
  formats,
  documentBytes,
  documentSizes,
  documentCount,
  names,
  uniqueNames,
  textBeside,
];
