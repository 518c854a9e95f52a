import { element, icon } from "./element.js";

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
  address(ref) {
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
    const image = element("img", { alt: resource.name ?? "image", draggable: "false" });
    this.address(resource.blob).then(
      (address) => {
        image.src = address;
      },
      () => image.replaceWith(icon("image")),
    );
    return image;
  }
}
