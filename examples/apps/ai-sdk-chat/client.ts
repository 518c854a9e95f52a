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
  status: ChatStatus = "ready";
  error: Error | undefined = undefined;
  messages: UIMessage[];

  constructor(messages: UIMessage[]) {
    this.messages = messages;
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
  constructor({ messages = [], ...init }: ChatInit<UIMessage>) {
    super({ ...init, state: new PlainState(messages) });
  }
}

/** Opens a chat as a page does that loads: the messages first, then the turn that runs, if one does. */
export async function openChat(url: string, id: string): Promise<PlainChat> {
  const messages = (await (await fetch(`${url}/api/chat/${id}`)).json()) as UIMessage[];
  return new PlainChat({ id, messages, transport: new DefaultChatTransport({ api: `${url}/api/chat` }) });
}

/** The text of a message. */
export function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}
