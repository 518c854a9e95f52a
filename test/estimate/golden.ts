import { createHash } from "node:crypto";

/** A text, and its tokens in o200k_base as js-tiktoken 1.0.21 counted them on 2026-11-21. Not used for fitting. */
export interface Golden {
  readonly kind: string;
  readonly text: string;
  readonly tokens: number;
}

const noise = (seed: string, count: number): readonly Buffer[] =>
  Array.from({ length: count }, (_, at) => createHash("sha256").update(`${seed} ${at}`).digest());

const english = `The harbour was quiet that morning. Two fishermen mended a net on the quay while a third counted coins into a
tin, and none of them looked up when the ferry came in. Margaret waited until the last passenger had gone ashore before she
carried her suitcase down the gangway. She had not expected anyone to meet her, and yet she searched the faces along the
wall for one that she might know. A boy with a bicycle asked whether she needed help. She thanked him, gave him the smaller
bag, and together they walked up the hill towards the white house that her grandfather had built before the war.`;

const typescript = `export async function retry<T>(task: (attempt: number) => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { attempts = 3, baseDelayMs = 250, signal } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await task(attempt);
    } catch (error) {
      if (attempt >= attempts || signal?.aborted) throw error;
      const delay = baseDelayMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }
}
`;

const python = `class Inventory:
    """Keeps how many of each part are in stock."""

    def __init__(self, parts=None):
        self._counts = dict(parts or {})

    def take(self, name, amount=1):
        left = self._counts.get(name, 0) - amount
        if left < 0:
            raise ValueError(f"only {left + amount} of {name} in stock")
        self._counts[name] = left
        return left

    def __len__(self):
        return sum(1 for count in self._counts.values() if count > 0)
`;

const chinese =
  "图书馆今天关门比平时早，因为管理员要去参加女儿的毕业典礼。我把没看完的小说夹好书签，放回三楼靠窗的那排架子上。回家的路上下起了小雨，" +
  "街边卖烤红薯的老人正忙着撑开一把旧伞。我买了两个，一个自己吃，一个带给隔壁的邻居。她最近在学习编写网页，常常问我怎样让按钮居中，或者为什么数据没有保存。" +
  "我告诉她先检查网络请求，再看控制台里的错误。";

const russian =
  "Библиотека сегодня закрылась раньше обычного, потому что заведующая уехала на выпускной вечер дочери. Я заложил страницу " +
  "и поставил роман обратно на полку у окна. По дороге домой начался мелкий дождь, и старик, торговавший яблоками, раскрыл " +
  "над прилавком зонт. Соседка недавно начала учиться программированию и часто спрашивает, почему данные не сохраняются. " +
  "Я посоветовал ей сначала проверить сетевой запрос, а потом сообщения об ошибках.";

const records = Array.from({ length: 12 }, (_, at) =>
  JSON.stringify({
    city: ["Lisbon", "Oslo", "Quito"][at % 3],
    temperature: { low: at * 1.5 - 4, high: at * 2 + 3 },
    observedAt: `2026-0${1 + (at % 9)}-14T06:30:00.000Z`,
    tags: ["station", `sensor-${at}`],
    active: at % 2 === 0,
  }),
);

/** One text of each kind that an agent meets most. */
export const golden: readonly Golden[] = [
  { kind: "English prose", text: english, tokens: 128 },
  { kind: "TypeScript", text: typescript, tokens: 142 },
  { kind: "Python", text: python, tokens: 127 },
  { kind: "Chinese", text: chinese, tokens: 128 },
  { kind: "Russian", text: russian, tokens: 111 },
  { kind: "compact JSON", text: `[${records.join(",")}]`, tokens: 593 },
  {
    kind: "indented JSON",
    text: JSON.stringify(
      records.map((record) => JSON.parse(record)),
      null,
      8,
    ),
    tokens: 962,
  },
  {
    kind: "digests",
    text: noise("digests", 20)
      .map((bytes, at) => `{"ref":"sha256:${bytes.toString("hex")}","size":${at * 113}}`)
      .join("\n"),
    tokens: 951,
  },
  { kind: "base64", text: Buffer.concat(noise("base64", 30)).toString("base64"), tokens: 855 },
  {
    kind: "UUIDs",
    text: noise("uuids", 40)
      .map((bytes) => bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, "$1-$2-$3-$4-$5"))
      .join("\n"),
    tokens: 963,
  },
];
