/** Reads the data of the page's own elements. */

import { SessionModels } from "../model/session-models.js";
import { dataElements, type PageData, type PageEntry, type PageImage } from "../page-data.js";

/** The data of a page: its sessions and its images. */
export interface PageSource {
  readonly data: PageData;
  readonly models: SessionModels;
  readonly images: ImageStore;
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
export class ImageStore {
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

  add(images: readonly PageImage[], leftOut: PageData["leftOut"]): void {
    for (const image of images) this.#added.set(image.key, image);
    this.#leftOut = [...this.#leftOut, ...leftOut];
  }
}
