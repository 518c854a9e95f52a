/** The declaration of a tool in the shape of each provider's client. */

/** A JSON schema of an object with text members, as the tools of all providers take it. */
export interface ToolSchema {
  [member: string]: unknown;
  type: "object";
  properties: Record<string, { type: "string"; description: string; enum?: string[] }>;
  required: string[];
  additionalProperties: false;
}

/** The declaration of a tool in the shape of each client. */
export interface ToolShapes<S = ToolSchema> {
  readonly anthropic: { name: string; description: string; input_schema: S };
  readonly openaiChat: {
    type: "function";
    function: { name: string; description: string; parameters: S };
  };
  readonly openaiResponses: {
    type: "function";
    name: string;
    description: string;
    parameters: S;
    strict: false;
  };
  /** An element of `functionDeclarations`. */
  readonly gemini: { name: string; description: string; parametersJsonSchema: S };
  readonly bedrock: {
    toolSpec: { name: string; description: string; inputSchema: { json: S } };
  };
  readonly mcp: { name: string; description: string; inputSchema: S };
  /** For other clients, and for the AI SDK: `tool({ description, inputSchema: jsonSchema(schema) })`. */
  readonly plain: { name: string; description: string; schema: S };
}

type Shapes<S> = { readonly [K in keyof ToolShapes<S>]: (tool: ToolShapes<S>["plain"]) => ToolShapes<S>[K] };

/** Functions that write a plain declaration in each shape. */
export function toolShapes<S>(): Shapes<S> {
  return {
    anthropic: ({ name, description, schema }) => ({ name, description, input_schema: schema }),
    openaiChat: ({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    }),
    openaiResponses: ({ name, description, schema }) => ({
      type: "function",
      name,
      description,
      parameters: schema,
      strict: false,
    }),
    gemini: ({ name, description, schema }) => ({ name, description, parametersJsonSchema: schema }),
    bedrock: ({ name, description, schema }) => ({
      toolSpec: { name, description, inputSchema: { json: schema } },
    }),
    mcp: ({ name, description, schema }) => ({ name, description, inputSchema: schema }),
    plain: (tool) => tool,
  };
}
