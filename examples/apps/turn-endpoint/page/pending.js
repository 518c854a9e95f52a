import { element, icon } from "./element.js";
import { asSentence, reasonInWords, sizeInWords, typeInWords } from "./words.js";

/** @import { Api } from "./api.js" */

/** The server's limit: a larger file is not sent. */
const maxFileBytes = 10 << 20;

/** A file for the next message: it is uploaded at once, and shown with its state. */
export class Pending {
  #file;
  #abort = new AbortController();
  /** @type {string | undefined} */
  #preview;
  item = element("li", { class: "pending" });
  /** @type {"uploading" | "ready" | "refused"} */
  state = "uploading";
  /** The server's path of the file, once it is uploaded. */
  path = "";
  /** @type {Promise<void>} settles when the upload did, and never rejects */
  uploaded;

  /**
   * @param {File} file
   * @param {Api} api
   * @param {{ remove: (pending: Pending) => void, isFolder: boolean }} options
   */
  constructor(file, api, { remove, isFolder }) {
    this.#file = file;
    this.name = file.name || "pasted file";
    this.remove = () => remove(this);
    this.#show();
    this.uploaded = this.#upload(api, isFolder);
  }

  /**
   * @param {Api} api
   * @param {boolean} isFolder
   */
  async #upload(api, isFolder) {
    const file = this.#file;
    try {
      if (isFolder) throw new Error("a folder cannot be attached, only the files in it");
      if (file.size > maxFileBytes) throw new Error(`it is larger than ${sizeInWords(maxFileBytes)}`);
      const { path, mediaType, kind } = await api.upload(file, this.#abort.signal);
      this.path = path;
      this.state = "ready";
      if (kind === "image") this.#preview = URL.createObjectURL(file);
      this.#show({ mediaType });
    } catch (error) {
      if (!this.#abort.signal.aborted) this.refuse(reasonInWords(error));
    }
  }

  /**
   * Shows that the file is refused.
   *
   * @param {string} reason
   */
  refuse(reason) {
    this.state = "refused";
    this.#show({ reason: asSentence(reason) });
  }

  /** Aborts the upload and frees its memory; the caller removes it from the page. */
  close() {
    this.#abort.abort();
    if (this.#preview !== undefined) URL.revokeObjectURL(this.#preview);
  }

  /** @param {{ mediaType?: string, reason?: string }} [outcome] */
  #show({ mediaType = this.#file.type, reason } = {}) {
    const { name, state } = this;
    const remove = element(
      "button",
      { type: "button", class: "remove", "aria-label": `Remove ${name}` },
      icon("remove"),
    );
    remove.addEventListener("click", this.remove);
    const facts = `${typeInWords(mediaType)}, ${sizeInWords(this.#file.size)}`;
    this.item.className = `pending ${state}`;
    if (this.#preview !== undefined && reason === undefined) {
      const image = element("img", {
        src: this.#preview,
        alt: `${name}, ${facts}`,
        title: `${name}, ${facts}`,
      });
      this.item.classList.add("picture");
      this.item.replaceChildren(image, remove);
      return;
    }
    const words = element(
      "span",
      { class: "chip-words" },
      element("span", { class: "chip-name", title: name }, name),
    );
    words.append(element("span", { class: "chip-facts" }, state === "uploading" ? "Uploading…" : facts));
    if (reason !== undefined) words.append(element("span", { class: "chip-reason" }, reason));
    this.item.replaceChildren(icon(reason === undefined ? "file" : "warning"), words, remove);
  }
}
