/** Reads the data of the page's own elements. */

import { SessionModels } from "../model/session-models.js";
import { dataElements, type PageData, type PageEntry, type PageImage } from "../page-data.js";

/** The data of a page: its sessions and its images. */
export interface PageSource {
  readonly data: PageData;
  readonly models: SessionModels;
  readonly images: ImageSource;
  /** The conversation is a part of another page: without addresses and without a panel. */
  readonly isEmbedded?: boolean;
}

/** The images of a page by key. */
export interface ImageSource {
  readonly leftOut: PageData["leftOut"];
  get(key: string): PageImage | undefined;
  /** The address of an image, at once or later; undefined without it. */
  address(key: string): string | Promise<string> | undefined;
  /** The address of a file that is no image. Without it, the page has no such files. */
  readonly file?: (key: string) => Promise<string>;
  add(images: readonly PageImage[], leftOut: PageData["leftOut"]): void;
}

/** Reads the sessions. Entries are parsed block by block, images when they are shown. */
export function readPage(page: Document): PageSource {
  const text = page.getElementById(dataElements.session)?.textContent;
  const data: PageData = JSON.parse(text ?? '{"sessions":[],"leftOut":[]}');
  const models = new SessionModels(data.sessions, (index) => readEntries(page, index), data.prices);
  return { data, models, images: new ImageStore(page, data) };
}

function* readEntries(page: Document, session: number): Generator<PageEntry, void, undefined> {
  for (const element of page.querySelectorAll(`script.${dataElements.entries}[data-session="${session}"]`)) {
    const entries: readonly PageEntry[] = JSON.parse(element.textContent ?? "[]");
    // The text is not needed twice.
    element.remove();
    yield* entries;
  }
}

/** The images of a page by key, those that came later included. */
class ImageStore implements ImageSource {
  readonly #elements = new Map<string, HTMLElement>();
  readonly #added = new Map<string, PageImage>();
  #leftOut: PageData["leftOut"];

  constructor(page: Document, data: PageData) {
    this.#leftOut = data.leftOut;
    for (const element of page.querySelectorAll<HTMLElement>(`script.${dataElements.image}`)) {
      const { key } = element.dataset;
      if (key !== undefined) this.#elements.set(key, element);
    }
  }

  get leftOut(): PageData["leftOut"] {
    return this.#leftOut;
  }

  get(key: string): PageImage | undefined {
    const added = this.#added.get(key);
    if (added !== undefined) return added;
    const element = this.#elements.get(key);
    if (element === undefined) return undefined;
    return { key, mediaType: element.dataset.type ?? "", base64: element.textContent ?? "" };
  }

  address(key: string): string | undefined {
    const image = this.get(key);
    return image && `data:${image.mediaType};base64,${image.base64}`;
  }

  add(images: readonly PageImage[], leftOut: PageData["leftOut"]): void {
    for (const image of images) this.#added.set(image.key, image);
    // A stream brings entries again, and with them images that were left out before.
    const listed = new Map([...this.#leftOut, ...leftOut].map((each) => [each.key, each]));
    this.#leftOut = [...listed.values()].filter(({ key }) => this.get(key) === undefined);
  }
}
