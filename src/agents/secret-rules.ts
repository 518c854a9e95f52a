/** The rules of `commonSecrets`: forms of credentials, each with the source of its form. */

/** A form of text that is redacted. */
export interface SecretRule {
  /** Replaces the secret in the text. Letters, digits and `-`. */
  readonly name: string;
  /** Where the form is documented. */
  readonly source: string;
  /** Texts of which a text with a secret has at least one, in any case; at least two ASCII characters. */
  readonly has?: readonly string[];
  /** The ranges of secrets in a text, as index and end. Takes time linear in the text. */
  find(text: string): Iterable<readonly [start: number, end: number]>;
}

/** A row: literals of which a text has at least one, and the form. A group marks the part that is secret. */
interface Form {
  readonly has: readonly string[];
  readonly form: RegExp;
  readonly source: string;
}

/** The default rules of gitleaks, by id (commit 009e025a, read 2026-11-23). Forms, not its expressions. */
const gitleaks = (id: string): string =>
  `https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml, rule ${id}`;

/** Between a name and its value: quotes, as they are or escaped, and a sign. */
const assigns = /["'\\]{0,4}\s{0,8}[:=]\s{0,8}["'\\]{0,4}/.source;

/** A part of a path. */
const segment = /[^\s\\/"'`:;,<>|()[\]{}*?$-][^\s\\/"'`:;,<>|()[\]{}*?$-]{0,63}/.source;

/**
 * A form that begins with a literal has a bounded length, so that a repeated beginning costs linear time. A
 * literal without a character outside base64 has boundaries: an image has any four letters somewhere.
 */
const forms: Readonly<Record<string, Form>> = {
  "anthropic-key": {
    has: ["sk-ant-"],
    form: /sk-ant-[\w-]{20,300}/g,
    source: gitleaks("anthropic-api-key"),
  },
  "openai-key": {
    has: ["sk-"],
    form: /sk-(?:(?:proj|svcacct|admin)-[\w-]{20,300}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20})/g,
    source: gitleaks("openai-api-key"),
  },
  "openrouter-key": {
    has: ["sk-or-v1-"],
    form: /sk-or-v1-[0-9A-Fa-f]{32,128}/g,
    source: "https://nango.dev/docs/api-integrations/openrouter/connect",
  },
  "groq-key": {
    has: ["gsk_"],
    form: /gsk_[A-Za-z0-9]{32,128}/g,
    source: "https://mcp.directory/skills/groq-security-basics",
  },
  "perplexity-key": {
    has: ["pplx-"],
    form: /pplx-[A-Za-z0-9]{40,128}/g,
    source: gitleaks("perplexity-api-key"),
  },
  "huggingface-token": {
    has: ["hf_", "api_org_"],
    form: /(?:hf|api_org)_[A-Za-z0-9]{30,64}/g,
    source: gitleaks("huggingface-access-token"),
  },
  "aws-access-key-id": {
    has: ["AKIA", "ASIA", "ABIA", "ACCA"],
    form: /(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])/g,
    source: gitleaks("aws-access-token"),
  },
  "aws-secret-key": {
    has: ["secret"],
    form: RegExp(`secret[_-]?access[_-]?key${assigns}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])`, "gi"),
    source: "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html",
  },
  "google-api-key": {
    has: ["AIza"],
    form: /(?<![A-Za-z0-9])AIza[\w-]{35}(?![\w-])/g,
    source: gitleaks("gcp-api-key"),
  },
  "google-oauth-secret": {
    has: ["GOCSPX-", "ya29."],
    form: /GOCSPX-[\w-]{20,64}|ya29\.[\w-]{20,2048}/g,
    source: "https://docs.gitguardian.com/secrets-detection/, detector google_oauth2_keys",
  },
  "azure-client-secret": {
    has: ["Q~"],
    form: /(?<![\w.~-])[\w.~]{3}\dQ~[\w.~-]{31,34}(?![\w.~-])/g,
    source: gitleaks("azure-ad-client-secret"),
  },
  "azure-storage-key": {
    has: ["AccountKey=", "SharedAccessKey="],
    form: /(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,100}={0,2})/g,
    source: "https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string",
  },
  "alibaba-access-key-id": {
    has: ["LTAI"],
    form: /(?<![A-Za-z0-9])LTAI[A-Za-z0-9]{20}(?![A-Za-z0-9])/g,
    source: gitleaks("alibaba-access-key-id"),
  },
  "digitalocean-token": {
    has: ["_v1_"],
    form: /do[opr]_v1_[a-f0-9]{64}/g,
    source: gitleaks("digitalocean-pat"),
  },
  "databricks-token": {
    has: ["dapi"],
    form: /(?<![A-Za-z0-9])dapi[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])/g,
    source: gitleaks("databricks-api-token"),
  },
  "heroku-key": {
    has: ["HRKU-AA"],
    form: /HRKU-AA[\w-]{58}/g,
    source: gitleaks("heroku-api-key-v2"),
  },
  "github-token": {
    has: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
    form: /(?:gh[pousr]|github_pat)_\w{36,255}/g,
    source:
      "https://github.blog/changelog/2021-03-31-authentication-token-format-updates-are-generally-available",
  },
  "gitlab-token": {
    has: [
      "glpat-",
      "gldt-",
      "glrt-",
      "glcbt-",
      "glptt-",
      "glft-",
      "glimt-",
      "glagent-",
      "gloas-",
      "glsoat-",
      "glffct-",
      "GR1348941",
    ],
    form: /(?:gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-|GR1348941)[\w-]{20,300}(?:\.[0-9a-z]{9})?/g,
    source: gitleaks("gitlab-pat"),
  },
  "atlassian-token": {
    has: ["ATATT3"],
    form: /ATATT3[\w=-]{180,250}/g,
    source: gitleaks("atlassian-api-token"),
  },
  "npm-token": { has: ["npm_"], form: /npm_[A-Za-z0-9]{36}/g, source: gitleaks("npm-access-token") },
  "pypi-token": {
    has: ["pypi-AgE"],
    form: /pypi-AgE[\w-]{50,1000}/g,
    source: gitleaks("pypi-upload-token"),
  },
  "rubygems-token": {
    has: ["rubygems_"],
    form: /rubygems_[a-f0-9]{48}/g,
    source: gitleaks("rubygems-api-token"),
  },
  "docker-token": {
    has: ["dckr_"],
    form: /dckr_(?:pat|oat)_[\w-]{27,64}/g,
    source: "https://docs.docker.com/reference/api/hub/latest/operations/AuthCreateAccessToken.md",
  },
  "slack-token": {
    has: ["xox", "xapp-"],
    form: /xox[a-z](?:\.xox[bp])?-[A-Za-z0-9-]{10,250}|xapp-\d-[A-Za-z0-9-]{20,250}/g,
    source: "https://docs.slack.dev/authentication/tokens",
  },
  "slack-webhook": {
    has: ["hooks.slack.com"],
    form: /hooks\.slack\.com\/(?:services|workflows|triggers)\/([\w+/]{20,100})/g,
    source: gitleaks("slack-webhook-url"),
  },
  "discord-webhook": {
    has: ["discord"],
    form: /discord(?:app)?\.com\/api\/webhooks\/(\d{17,20}\/[\w-]{60,100})/g,
    source: "https://docs.rs/twilight-util/0.7.0/twilight_util/link/webhook/fn.parse.html",
  },
  "telegram-token": {
    has: [":AA"],
    form: /(?<![\w-])\d{8,12}:AA[\w-]{33}(?![\w-])/g,
    source: gitleaks("telegram-bot-api-token"),
  },
  "stripe-key": {
    has: ["k_live_", "k_test_", "k_prod_", "whsec_"],
    form: /(?:[sr]k_(?:live|test|prod)|whsec)_[A-Za-z0-9+/=]{10,128}/g,
    source: "https://docs.stripe.com/keys",
  },
  "square-token": {
    has: ["sq0"],
    form: /sq0[a-z]{3}-[\w-]{22,60}/g,
    source: gitleaks("square-access-token"),
  },
  "shopify-token": {
    has: ["shp"],
    form: /shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}/g,
    source: gitleaks("shopify-access-token"),
  },
  "twilio-key": {
    has: ["SK"],
    form: /(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![A-Za-z0-9])/g,
    source: gitleaks("twilio-api-key"),
  },
  "sendgrid-key": {
    has: ["SG."],
    form: /(?<![A-Za-z0-9])SG\.[\w-]{16,32}\.[\w-]{16,64}/g,
    source: gitleaks("sendgrid-api-token"),
  },
  "vault-token": {
    has: ["hvs.", "hvb."],
    form: /hv[sb]\.[\w-]{80,300}/g,
    source: gitleaks("vault-service-token"),
  },
  "terraform-token": {
    has: [".atlasv1."],
    form: /[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}/g,
    source: gitleaks("hashicorp-tf-api-token"),
  },
  "doppler-token": {
    has: ["dp."],
    form: /dp\.(?:pt|st|ct|sa)\.[\w.-]{40,64}/g,
    source: gitleaks("doppler-api-token"),
  },
  "grafana-token": {
    has: ["glsa_", "glc_"],
    form: /glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,400}={0,2}/g,
    source: gitleaks("grafana-service-account-token"),
  },
  "sentry-token": {
    has: ["sntry"],
    form: /sntry[su]_[\w+/=.-]{60,400}/g,
    source: gitleaks("sentry-org-token"),
  },
  "linear-key": { has: ["lin_api_"], form: /lin_api_[A-Za-z0-9]{40}/g, source: gitleaks("linear-api-key") },
  "notion-token": { has: ["ntn_"], form: /ntn_\d{11}[A-Za-z0-9]{35}/g, source: gitleaks("notion-api-token") },
  "postman-key": {
    has: ["PMAK-"],
    form: /PMAK-[A-Fa-f0-9]{24}-[A-Fa-f0-9]{34}/g,
    source: gitleaks("postman-api-token"),
  },
  "planetscale-token": {
    has: ["pscale_"],
    form: /pscale_(?:tkn|oauth|pw)_[\w=.-]{32,64}/g,
    source: gitleaks("planetscale-api-token"),
  },
  "age-key": {
    has: ["AGE-SECRET-KEY-1"],
    form: /AGE-SECRET-KEY-1[0-9A-Z]{58}/g,
    source: gitleaks("age-secret-key"),
  },
  "1password-token": {
    has: ["ops_eyJ"],
    form: /ops_eyJ[A-Za-z0-9+/]{200,4096}={0,3}/g,
    source: gitleaks("1password-service-account-token"),
  },
  "authorization-header": {
    has: ["authorization"],
    form: RegExp(
      `authorization${assigns}(?:(?:bearer|basic|token|digest) {1,8})?([\\w.~+/=-]{8,4096})`,
      "gi",
    ),
    source: "https://www.rfc-editor.org/rfc/rfc9110#section-11.6.2",
  },
  "url-password": {
    has: ["://"],
    form: /:\/\/[^\s/:@"'<>]{0,256}:([^\s/@"'<>[\]]{1,256})@/g,
    source: "https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1",
  },
};

/** The directory of a user below the usual parents of homes, and in the names that agents make of paths. */
const homes: Form = {
  has: ["/home/", "/users/", "\\users\\", "-home-", "-users-"],
  form: RegExp(`(?:[\\\\/]{1,2}(?:home|users)[\\\\/]{1,2}|[\\\\/]-(?:home|users)-)(${segment})`, "gi"),
  source: "https://refspecs.linuxfoundation.org/FHS_3.0/fhs/ch03s08.html",
};

/** A rule of a regular expression. A group of the expression marks the part that is secret. */
export function patternRule(
  name: string,
  form: RegExp,
  source: string,
  has: readonly string[] = [],
): SecretRule {
  const flags = new Set([...form.flags.replace("y", ""), "g", "d"]);
  const pattern = new RegExp(form.source, [...flags].join(""));
  return {
    name,
    source,
    ...(has.length === 0 ? {} : { has }),
    *find(text) {
      for (const { indices } of text.matchAll(pattern)) {
        const range = indices?.[1] ?? indices?.[0];
        if (range !== undefined && range[1] > range[0]) yield range;
      }
    },
  };
}

/** Credentials of known forms. Of two that overlap the first gives its name. */
export const commonSecrets: readonly SecretRule[] = [
  {
    name: "private-key",
    source: "https://www.rfc-editor.org/rfc/rfc7468",
    has: ["private key"],
    find: findPrivateKeys,
  },
  ...Object.entries(forms).map(([name, { form, source, has }]) => patternRule(name, form, source, has)),
  {
    name: "json-web-token",
    source: "https://www.rfc-editor.org/rfc/rfc7519",
    has: ["eyj"],
    find: findJsonWebTokens,
  },
  {
    name: "assigned-secret",
    source: gitleaks("generic-api-key"),
    has: ["pass", "pwd", "secret", "key", "token", "credential"],
    find: findAssignedSecrets,
  },
];

/** The names of users in paths of home directories. Not a secret, and not among {@link commonSecrets}. */
export const homeDirectory: SecretRule = patternRule("home-directory", homes.form, homes.source, homes.has);

// Forms of secrets that a regular expression finds in linear time only with care: keys in PEM, JSON Web
// Tokens, and values of variables whose name marks them as secret.

type Range = readonly [start: number, end: number];

const dashes = "-----";
const header = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** The end of a line: as it is, or as JSON has it. */
const lineEnd = /\r?\n|(?:\\{1,8}r)?\\{1,8}n/g;
/** Longer than a line of PEM with the prefix of an output, such as a line number. */
const maxLine = 4200;
/** Before a line in an output: a number, a sign of a diff or quote, a comment. */
const lineStart = /^(?:\s{0,16}\d{1,7}(?:→|\t|[:|] ?))?[\s+>#*|"'`]{0,16}/;
/** A line of the body: a header of the key, or base64, after which a string may end. */
const bodyLine = /^(?:(?:Proc-Type|DEK-Info|Version|Comment): .{0,200}|[A-Za-z0-9+/=]{0,4096})/;
const endOfString = /^\s{0,16}["'`,;\\+]{0,8}\s{0,16}$/;
/** A shorter line before other text is a word. */
const minLastLine = 16;

/**
 * Private keys in PEM, from their header to their footer; without a footer, to the last line of the body.
 * Each character between two runs of dashes is read once.
 */
function* findPrivateKeys(text: string): Generator<Range> {
  for (const { 0: begin, index } of text.matchAll(header)) {
    const body = index + begin.length;
    const next = text.indexOf(dashes, body);
    const footer = /^-----END [A-Z0-9 ]{0,40}KEY(?: BLOCK)?-----/.exec(text.slice(next, next + 80));
    if (next >= 0 && footer !== null) yield [index, next + footer[0].length];
    else yield [index, endOfBody(text, body, next < 0 ? text.length : next)];
  }
}

/** The end of the lines of base64 that follow a header without a footer. */
function endOfBody(text: string, from: number, limit: number): number {
  const rest = text.slice(from, limit);
  let end = 0;
  let start = 0;
  for (const { 0: separator, index } of [...rest.matchAll(lineEnd), { 0: "", index: rest.length }]) {
    if (index - start > maxLine) break;
    const line = rest.slice(start, index);
    const indent = lineStart.exec(line)?.[0].length ?? 0;
    const body = bodyLine.exec(line.slice(indent))?.[0].length ?? 0;
    const isWhole = endOfString.test(line.slice(indent + body));
    if (body > 0 && (isWhole || body >= minLastLine)) end = start + indent + body;
    if (!isWhole) break;
    start = index + separator.length;
  }
  return from + end;
}

/** Of base64url. */
const tokenCharacter = /[\w-]/;

/**
 * JSON Web Tokens: three parts in base64url with points between, of which the first two begin as JSON objects do.
 * A run of characters is read once, however many of its places begin like a token.
 */
function* findJsonWebTokens(text: string): Generator<Range> {
  let from = text.indexOf("eyJ");
  while (from >= 0) {
    const headerEnd = endOfRun(text, from);
    let end = headerEnd;
    if (headerEnd - from >= 16 && text.startsWith(".eyJ", headerEnd)) {
      const payloadEnd = endOfRun(text, headerEnd + 1);
      end = text[payloadEnd] === "." ? endOfRun(text, payloadEnd + 1) : payloadEnd;
      if (payloadEnd - headerEnd >= 12) yield [from, end];
    }
    from = text.indexOf("eyJ", end);
  }
}

function endOfRun(text: string, from: number): number {
  let end = from;
  while (end < text.length && tokenCharacter.test(text[end] as string)) end++;
  return end;
}

const secretName =
  /passw(?:or)?d|passphrase|secret|(?:api|access|private)[_-]?key|(?:auth|access)[_-]?token|credential/;

const assignment = /[\w-]{0,30}["'\\]{0,4}\s{0,8}(?:=|:|=>|:=)\s{0,8}/;
/** In quotes, as members of JSON have it, also names that mean less in a text. */
const quotedName = /pwd|pass|token/;
const plainValue = /["'`\\]{0,4}([\w+/=.~!@#%^&-]{8,200})/;
const quotedValue = /["'`]([^\s"'`\\(){}<>[\]]{8,200})["'`]/;
const assigned = new RegExp(
  `(?:(?:${secretName.source})${assignment.source}|(?:${quotedName.source})(?:=|["']\\s{0,8}[=:]\\s{0,8}))` +
    `(?:${quotedValue.source}|${plainValue.source})`,
  "dgi",
);
const minEntropy = 3;

/**
 * Values that are assigned to a name such as `password` or `API_KEY`, if they have digits and letters and the
 * spread of characters that a random value has. A word of a language, a type or a call is not one.
 */
function* findAssignedSecrets(text: string): Generator<Range> {
  for (const { 1: quoted, 2: plain = "", indices } of text.matchAll(assigned)) {
    const value = quoted ?? plain;
    const range = indices?.[1] ?? indices?.[2];
    if (range === undefined || !/\d/.test(value) || !/[A-Za-z]/.test(value)) continue;
    if (entropy(value) >= minEntropy) yield range;
  }
}

/** Shannon's entropy in bits a character. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
