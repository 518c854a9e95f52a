import { byId, element, icon } from "./element.js";
import { asSentence, reasonInWords, sizeInWords, typeInWords } from "./words.js";

/** @import { Api } from "./api.js" */

/** A drop, a paste or a choice of more files than this is a mistake. */
const maxFiles = 32;

/** The message that is being written, and its attachments. */
export class Composer {
  #form = byId("composer", HTMLFormElement);
  #text = byId("text", HTMLTextAreaElement);
  #list = byId("attachments", HTMLUListElement);
  #send = byId("send", HTMLButtonElement);
  #stop = byId("stop", HTMLButtonElement);
  #api;
  #onSend;
  #onNotice;
  /** @type {Pending[]} */
  #pending = [];
  #running = false;
  #sending = false;

  /**
   * @param {Api} api
   * @param {object} on
   * @param {(text: string, paths: readonly string[]) => Promise<boolean>} on.send resolves to whether the
   *   server took it
   * @param {() => void} on.stop
   * @param {(words: string) => void} on.notice
   */
  constructor(api, on) {
    this.#api = api;
    this.#onSend = on.send;
    this.#onNotice = on.notice;
    const files = byId("files", HTMLInputElement);
    byId("attach", HTMLButtonElement).addEventListener("click", () => files.click());
    files.addEventListener("change", () => {
      this.add(Array.from(files.files ?? []));
      files.value = "";
    });
    this.#stop.addEventListener("click", on.stop);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.#text.addEventListener("keydown", (event) => {
      // While an input method composes, Enter accepts its word and does not send.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      void this.#submit();
    });
    this.#text.addEventListener("input", () => this.#update());
    this.#listenForFiles();
    this.#update();
  }

  /** Pasted anywhere, dropped anywhere. */
  #listenForFiles() {
    const drop = byId("drop", HTMLDivElement);
    document.addEventListener("paste", (event) => {
      const files = Array.from(event.clipboardData?.files ?? []);
      if (files.length === 0) return;
      this.add(files);
      // A copy that is also text is pasted into the message.
      if (event.clipboardData?.getData("text/plain") === "") event.preventDefault();
      this.focus();
    });
    document.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      drop.hidden = false;
    });
    document.addEventListener("dragleave", ({ relatedTarget }) => {
      if (relatedTarget === null) drop.hidden = true;
    });
    document.addEventListener("drop", (event) => {
      drop.hidden = true;
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      const items = Array.from(event.dataTransfer.items).filter(({ kind }) => kind === "file");
      // A folder can be recognized only now: after this event the list is empty.
      const folders = items.map((item) => item.webkitGetAsEntry?.()?.isDirectory === true);
      this.add(Array.from(event.dataTransfer.files), folders);
      this.focus();
    });
  }

  /**
   * @param {readonly File[]} files
   * @param {readonly boolean[]} [folders] which of them are folders
   */
  add(files, folders = []) {
    const room = Math.max(0, maxFiles - this.#pending.length);
    if (files.length > room)
      this.#onNotice(`At most ${maxFiles} files go with a message; the others were left out.`);
    for (const [at, file] of files.slice(0, room).entries()) {
      const remove = (/** @type {Pending} */ pending) => this.#remove(pending);
      const pending = new Pending(file, this.#api, { remove, isFolder: folders[at] === true });
      this.#pending.push(pending);
      this.#list.append(pending.item);
      void pending.uploaded.then(() => this.#update());
    }
    this.#update();
  }

  /** @param {Pending} pending */
  #remove(pending) {
    const at = this.#pending.indexOf(pending);
    if (at === -1) return;
    this.#pending.splice(at, 1);
    pending.close();
    pending.item.remove();
    // Removing with the keyboard keeps the focus near.
    const next = this.#pending[Math.min(at, this.#pending.length - 1)];
    (next?.item.querySelector("button") ?? this.#text).focus();
    this.#update();
  }

  async #submit() {
    if (this.#running || this.#sending) return;
    const byButton = document.activeElement === this.#send;
    this.#sending = true;
    this.#update();
    const hoped = this.#pending.filter(({ state }) => state === "uploading");
    await Promise.all(this.#pending.map(({ uploaded }) => uploaded));
    if (hoped.some(({ state }) => state === "refused")) {
      this.#sending = false;
      this.#update();
      this.#onNotice("The message was not sent. Send it again to go on without what could not be attached.");
      return this.focus();
    }
    // Files from here on belong to the next message.
    const settled = [...this.#pending];
    const ready = settled.filter(({ state }) => state === "ready");
    const text = this.#text.value;
    const isTaken =
      (text.trim() !== "" || ready.length > 0) &&
      (await this.#onSend(
        text,
        ready.map(({ path }) => path),
      ));
    this.#sending = false;
    if (isTaken) this.#clear(settled);
    this.#update();
    if (byButton) this.focus();
  }

  /** @param {readonly Pending[]} settled what became of these is known */
  #clear(settled) {
    for (const pending of settled) {
      pending.close();
      pending.item.remove();
    }
    this.#pending = this.#pending.filter((pending) => !settled.includes(pending));
    this.#text.value = "";
  }

  /** @param {boolean} running whether a reply is being written, which is to end first */
  setRunning(running) {
    const hadFocus = document.activeElement === this.#stop;
    this.#running = running;
    this.#update();
    if (hadFocus && !running) this.focus();
  }

  focus() {
    this.#text.focus();
  }

  /**
   * Writes a message into the field, above what it has.
   *
   * @param {string} text
   */
  write(text) {
    this.#text.value = [text, this.#text.value].filter((part) => part !== "").join("\n\n");
    this.#update();
    this.focus();
  }

  #update() {
    const sendable = this.#pending.some(({ state }) => state !== "refused") || this.#text.value.trim() !== "";
    this.#send.disabled = this.#running || this.#sending || !sendable;
    this.#stop.hidden = !this.#running;
    this.#text.readOnly = this.#sending;
    this.#list.hidden = this.#pending.length === 0;
    this.#form.classList.toggle("running", this.#running);
  }
}

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
