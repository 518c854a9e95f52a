import { byId, element, icon, notify } from "./element.js";
import { reasonInWords, sizeInWords, typeInWords } from "./words.js";

/** @import { Api, Resource } from "./api.js" */

/** Number of blob addresses to keep. A shown image stays after its address is revoked. */
const maxKept = 200;

/**
 * The session's images and files. An `<img>` sends no Authorization header, so the bytes are fetched and
 * shown from memory.
 */
export class Images {
  #api;
  /** @type {Map<string, Promise<string>>} */
  #addresses = new Map();

  /** @param {Api} api */
  constructor(api) {
    this.#api = api;
  }

  /**
   * @param {string} ref
   * @returns {Promise<string>} an address within this page
   */
  #address(ref) {
    const known = this.#addresses.get(ref);
    const address = known ?? this.#api.blob(ref).then((blob) => URL.createObjectURL(blob));
    this.#addresses.delete(ref);
    this.#addresses.set(ref, address);
    if (known === undefined) address.catch(() => this.#addresses.delete(ref));
    for (const [oldest, gone] of this.#addresses) {
      if (this.#addresses.size <= maxKept) break;
      this.#addresses.delete(oldest);
      gone.then(URL.revokeObjectURL, () => {});
    }
    return address;
  }

  /**
   * An image once it is loaded; for other files and after a failure an icon.
   *
   * @param {Resource} resource
   */
  thumbnail(resource) {
    if (resource.kind !== "image") return icon("file");
    const { name = "image", width, height } = resource;
    const image = element("img", { alt: name, draggable: "false" });
    if (width !== undefined && height !== undefined) {
      image.width = width;
      image.height = height;
    }
    this.#address(resource.blob).then(
      (address) => {
        image.src = address;
      },
      () => image.replaceWith(icon("image")),
    );
    return image;
  }

  /**
   * A button with an image, or with the facts of a file.
   *
   * @param {Resource} resource
   */
  button(resource) {
    const { name = resource.kind, mediaType, size } = resource;
    const facts = `${typeInWords(mediaType)}, ${sizeInWords(size)}`;
    if (resource.kind === "image") {
      const label = `Show ${name}, ${facts}`;
      const button = element("button", {
        type: "button",
        class: "picture",
        title: name,
        "aria-label": label,
      });
      button.append(this.thumbnail(resource));
      button.addEventListener("click", () => this.#show(resource).catch(sayWhy));
      return button;
    }
    const words = element(
      "span",
      { class: "chip-words" },
      element("span", { class: "chip-name" }, name),
      element("span", { class: "chip-facts" }, facts),
    );
    const button = element(
      "button",
      { type: "button", class: "chip", title: `Save ${name}` },
      icon("file"),
      words,
    );
    button.addEventListener("click", () => this.#save(resource).catch(sayWhy));
    return button;
  }

  /** @param {Resource} resource */
  async #show({ blob, name = "" }) {
    const image = byId("viewer-image", HTMLImageElement);
    image.src = await this.#address(blob);
    image.alt = name;
    byId("viewer-name", HTMLParagraphElement).textContent = name;
    byId("viewer", HTMLDialogElement).showModal();
  }

  /** @param {Resource} resource */
  async #save({ blob, name = "file" }) {
    element("a", { href: await this.#address(blob), download: name }).click();
  }
}

/** @param {unknown} error */
function sayWhy(error) {
  notify(`It cannot be shown. ${reasonInWords(error)}`);
}
