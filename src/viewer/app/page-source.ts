/** Reads the data of the page's own elements. */

import { dataElements, type PageData, type PageEntry, type PageImage } from "../page-data.js";

/** The data of a page: the session, its entries, its images. */
export interface PageSource {
  readonly data: PageData;
  readonly entries: Generator<PageEntry, void, undefined>;
  readonly images: ImageStore;
}

/** Reads the session. Entries are parsed block by block, images when they are shown. */
export function readPage(page: Document): PageSource {
  const text = page.getElementById(dataElements.session)?.textContent;
  const data: PageData = JSON.parse(
    text ?? '{"leafId":null,"count":0,"diagnostics":{"total":0,"listed":[]},"leftOut":[]}',
  );
  return { data, entries: readEntries(page), images: new ImageStore(page, data) };
}

function* readEntries(page: Document): Generator<PageEntry, void, undefined> {
  for (const element of page.querySelectorAll(`script.${dataElements.entries}`)) {
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
