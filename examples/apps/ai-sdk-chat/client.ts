// A client without a browser: `AbstractChat`, which useChat is made of, with its state in plain fields.
import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  type UIMessage,
} from "ai";

class PlainState implements ChatState<UIMessage> {
  #status: ChatStatus = "ready";
  #messages: UIMessage[];
  error: Error | undefined = undefined;
  readonly #onChange: () => void;

  constructor(messages: UIMessage[], onChange: () => void) {
    this.#messages = messages;
    this.#onChange = onChange;
  }

  get status(): ChatStatus {
    return this.#status;
  }

  set status(status: ChatStatus) {
    this.#status = status;
    this.#onChange();
  }

  get messages(): UIMessage[] {
    return this.#messages;
  }

  set messages(messages: UIMessage[]) {
    this.#messages = messages;
    this.#onChange();
  }

  pushMessage = (message: UIMessage) => {
    this.messages = [...this.messages, message];
  };

  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };

  replaceMessage = (index: number, message: UIMessage) => {
    this.messages = this.messages.with(index, structuredClone(message));
  };

  snapshot = <T>(value: T): T => structuredClone(value);
}

/** A chat as useChat has it. */
export class PlainChat extends AbstractChat<UIMessage> {
  /** @param onChange called after each change of the messages or the status */
  constructor({ messages = [], ...init }: ChatInit<UIMessage>, onChange: () => void = () => {}) {
    super({ ...init, state: new PlainState(messages, onChange) });
  }
}

/** Opens a chat as a page does that loads: the messages first, then the turn that runs, if one does. */
export async function openChat(url: string, id: string, onChange?: () => void): Promise<PlainChat> {
  const messages = (await (await fetch(`${url}/api/chat/${id}`)).json()) as UIMessage[];
  const transport = new DefaultChatTransport({ api: `${url}/api/chat` });
  return new PlainChat({ id, messages, transport }, onChange);
}

/** The text of a message. */
export function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}
