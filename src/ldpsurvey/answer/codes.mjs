// Codes of reports, to be read out or written down: `report_code` of Python returns the same ones.

const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";

/** Return the code of a report, such as "817-345"; `content` is what channel.json was parsed to. */
export function encode(content, report) {
  const [rank, size] = content.outputs ? ofTable(content, report) : ofQuestionnaire(content, report);
  const channel = content.id.slice(1);
  const number = String(rank + 1n).padStart(String(size).length, "0");
  // ISO 7064, MOD 97-10, of the whole number of the channel, of which three digits are told.
  const check = 98n - ((BigInt(channel + number) * 100n) % 97n);
  const rest = number + String(check).padStart(2, "0");
  return [channel.slice(-3), ...rest.match(/.{1,4}/g)].join("-");
}

/** Return the rank of a report among those of a table's channel, and how many these are. */
function ofTable({ outputs }, report) {
  const place = outputs.indexOf(report);
  if (place < 0) throw unknown(report);
  return [BigInt(place), BigInt(outputs.length)];
}

/** Return the same of a questionnaire's channel: lot by lot, with the questions and permutations as mixed radices. */
function ofQuestionnaire({ questions, lots }, report) {
  const [lot, ...parts] = String(report).split("/");
  const place = lots.findIndex((_, i) => lot === `L${i + 1}`);
  if (place < 0 || parts.length !== lots[place].questions.length) throw unknown(report);
  let size = 0n;
  let rank = 0n;
  lots.forEach((one, i) => {
    const left = new Map(one.questions.map((kind) => [kind.join(), [...kind]]));
    let reports = 1n;
    let number = 0n;
    one.questions.forEach((kind, axis) => {
      const some = left.get(kind.join());
      const radix = BigInt(some.length);
      const answers = questions[some[0]].answers.length;
      reports *= radix * factorial(answers);
      if (i !== place) return some.pop();
      const [, question, letters] = /^q([0-9]+)=([0-9a-z]+)$/.exec(parts[axis]) ?? [];
      const found = some.indexOf(Number(question) - 1);
      if (found < 0 || letters.length !== answers) throw unknown(report);
      number = (number * radix + BigInt(found)) * factorial(answers) + ofPermutation(letters, report);
      return some.splice(found, 1);
    });
    if (i === place) rank = size + number;
    size += reports;
  });
  return [rank, size];
}

/** Return the rank of a permutation in the order of a dictionary. */
function ofPermutation(letters, report) {
  const left = [...DIGITS.slice(0, letters.length)];
  return [...letters].reduce((number, letter) => {
    const found = left.indexOf(letter);
    if (found < 0) throw unknown(report);
    const radix = BigInt(left.length);
    left.splice(found, 1);
    return number * radix + BigInt(found);
  }, 0n);
}

function factorial(number) {
  let product = 1n;
  for (let factor = 2n; factor <= number; factor += 1n) product *= factor;
  return product;
}

function unknown(report) {
  return new Error(`The channel gives no report ${JSON.stringify(report)}.`);
}
