/** Images and other attachments of a message. */

import { useEffect, useState } from "preact/hooks";
import type { isResource, StoredResource } from "../../content/index.js";
import { isShownType } from "../images.js";
import { bytesText, visibleText } from "../model/text.js";
import { useViewer } from "./hooks.js";

export function InlineImage({ block }: { readonly block: Readonly<Record<string, unknown>> }) {
  const type = typeof block.mimeType === "string" ? block.mimeType : "unknown type";
  const key = typeof block.viewerKey === "string" ? block.viewerKey : undefined;
  const isHere = typeof block.data === "string" && block.data !== "" && isShownType(type);
  return (
    <Picture
      imageKey={key}
      name={`image, ${type}`}
      {...(isHere && { data: `data:${type};base64,${block.data}` })}
    />
  );
}

export function Attachment({
  resource,
}: {
  readonly resource: NonNullable<Parameters<typeof isResource>[0]>;
}) {
  const state = useViewer();
  const stored = resource as StoredResource;
  if (stored.kind === "image") {
    const size = stored.width === undefined ? "" : `, ${stored.width} × ${stored.height}`;
    return (
      <Picture imageKey={stored.blob} name={`${stored.name ?? "image"}, ${bytesText(stored.size)}${size}`} />
    );
  }
  const { kind, name, uri, mediaType, size } = resource as {
    readonly kind: string;
    readonly name?: string;
    readonly uri?: string;
    readonly mediaType?: string;
    readonly size?: number;
  };
  const facts = [kind, name ?? uri ?? "", mediaType ?? "", size === undefined ? "" : bytesText(size)];
  const text = visibleText(facts.filter((fact) => fact !== "").join(", "));
  const { file } = state.images;
  if (file === undefined || stored.blob === undefined) return <p class="attachment">{text}</p>;
  return <SavedFile text={text} name={name ?? "file"} address={() => file(stored.blob)} />;
}

interface SavedFileProps {
  readonly text: string;
  readonly name: string;
  readonly address: () => Promise<string>;
}

/** A file that a click saves. */
function SavedFile({ text, name, address }: SavedFileProps) {
  const [failure, setFailure] = useState<string>();
  const save = async () => {
    try {
      const link = document.createElement("a");
      link.href = await address();
      link.download = name;
      link.click();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <button type="button" class="attachment" title={`Save ${visibleText(name)}`} onClick={save}>
      {text}
      {failure !== undefined && ` (not saved: ${visibleText(failure)})`}
    </button>
  );
}

interface PictureProps {
  readonly imageKey: string | undefined;
  readonly name: string;
  /** Its address, if its data is in the message. */
  readonly data?: string;
}

/** An image of the page, small; a click shows it large. An absent one is named. */
function Picture({ imageKey, name, data }: PictureProps) {
  const state = useViewer();
  const src = useAddress(
    imageKey,
    (key) => data ?? (key === undefined ? undefined : state.images.address(key)),
  );
  const shownName = visibleText(name);
  if (src === undefined) {
    const leftOut = state.images.leftOut.find(({ key }) => key === imageKey);
    const reason =
      leftOut === undefined || leftOut.reason === "budget"
        ? "not in this page"
        : `${leftOut.reason} in the store`;
    return (
      <p class="attachment">
        {shownName} ({reason})
      </p>
    );
  }
  return (
    <button
      type="button"
      class="thumbnail"
      aria-label={`Show ${shownName}`}
      disabled={src === ""}
      onClick={() => state.set({ image: { src, name: shownName } })}
    >
      <img {...(src !== "" && { src })} alt={shownName} />
    </button>
  );
}

/** An address; empty while it is on its way, undefined if it does not come. */
function useAddress(
  key: string | undefined,
  find: (key: string | undefined) => string | Promise<string> | undefined,
): string | undefined {
  const [later, setLater] = useState<{ readonly key?: string; readonly address?: string }>();
  const found = later !== undefined && later.key === key ? later.address : find(key);
  const isLater = typeof found === "object";
  useEffect(() => {
    if (!isLater) return;
    let isWanted = true;
    const set = (address?: string) => {
      if (!isWanted) return;
      setLater({ ...(key !== undefined && { key }), ...(address !== undefined && { address }) });
    };
    found.then(set, () => set());
    return () => {
      isWanted = false;
    };
  }, [key, isLater]);
  return isLater ? "" : found;
}
