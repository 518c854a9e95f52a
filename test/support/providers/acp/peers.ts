import {
  agent,
  type ContentBlock,
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptCapabilities,
  RequestError,
} from "@agentclientprotocol/sdk";
import { breaches } from "../rule.js";
import { acpRules } from "./rules.js";

/** What came of a prompt: what the agent read, and how it ended the turn. */
export interface Prompted {
  readonly read: readonly ContentBlock[];
  readonly stopReason: string;
}

/** Two ends of a connection, which carry bytes and nothing else. */
function bytePipes(): readonly [ReturnType<typeof ndJsonStream>, ReturnType<typeof ndJsonStream>] {
  const [up, down] = [new TransformStream<Uint8Array>(), new TransformStream<Uint8Array>()];
  return [ndJsonStream(up.writable, down.readable), ndJsonStream(down.writable, up.readable)];
}

/**
 * An official client tells an official agent, over lines of JSON, what the user says. The agent refuses what breaks a rule,
 * with the invalid parameters of JSON-RPC.
 */
export async function promptAgent(
  prompt: ContentBlock[],
  promptCapabilities: PromptCapabilities,
): Promise<Prompted> {
  const [clientEnd, agentEnd] = bytePipes();
  const read: ContentBlock[] = [];
  const connection = agent({ name: "sessile-test" })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentCapabilities: { promptCapabilities },
    }))
    .onRequest(methods.agent.session.new, () => ({ sessionId: "s1" }))
    .onRequest(methods.agent.session.prompt, ({ params }) => {
      const [breach] = breaches({ prompt: params.prompt, capabilities: promptCapabilities }, acpRules);
      if (breach !== undefined) throw RequestError.invalidParams(breach, breach.problem);
      read.push(...params.prompt);
      return { stopReason: "end_turn" };
    })
    .connect(agentEnd);
  try {
    const lost = connection.closed.then((): never => {
      throw new Error("the agent closed the connection");
    });
    const done = client({ name: "sessile-test" }).connectWith(clientEnd, async (context) => {
      await context.request(methods.agent.initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: {},
      });
      const { sessionId } = await context.request(methods.agent.session.new, { cwd: "/", mcpServers: [] });
      const { stopReason } = await context.request(methods.agent.session.prompt, { sessionId, prompt });
      return { read, stopReason };
    });
    // A client that is not told waits for an answer forever.
    return await Promise.race([done, lost]);
  } finally {
    connection.close();
  }
}
