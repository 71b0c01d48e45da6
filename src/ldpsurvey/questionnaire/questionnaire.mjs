// Draws reports of the questionnaire whose channel it was written beside, in a browser or in Node (20 or newer),
// without a dependency.
//
//     import { reporter } from "./channel.mjs";
//     const report = await reporter();
//     report({ smokes: "no", votes: "yes", age: 37 });  // such as "L2/q3=10/q1=01"
//     report.channel;  // the id of the channel, to be sent with the report
//     report.values;  // the answers that each question may have
//     const lot = report.draw();  // first, by chance alone: the answers to lot.asked, such as [2, 0], are all it takes
//     report({ smokes: "no", age: 37 }, lot);
//
// Each person reports once: store the report, and send it again where a page is loaded again. What two reports
// together reveal has another limit: twice the level.

/** The SHA-256 of the only channel file that is used. */
const CHANNEL = "the SHA-256 of the file";

/** The id of the channel. */
const ID = "the id of the channel";

const LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz";

/**
 * Return a promise of a function from a record to its report. A record is an object with a text or a number for every
 * question; numbers go into the channel's groups.
 *
 * `file` has the bytes of channel.json; by default they are read from the file beside this one. `random` returns eight
 * bytes; anything but the default is no protection. An Error is thrown if the file is not the one that this sampler was
 * written beside, a field of a record is none that the channel knows, or its answers are impossible together.
 */
export async function reporter(file, random = secure) {
  const { questions, accept, lots, impossible = [] } = await content(file);
  const fields = questions.map(({ name, answers }) => reader(name, answers));
  const sizes = questions.map(({ answers }) => answers.length);
  const thresholds = runningSums(lots.map(({ weight }) => weight).join(" "));
  // Of each rule the questions that it is about, and which of their answers.
  const rules = impossible.map((rule) =>
    questions.flatMap(({ name, answers, columns = [name], values = answers.map((answer) => [answer]) }, j) =>
      columns.some((column) => column in rule)
        ? [[j, values.map((some) => columns.every((column, i) => !(column in rule) || rule[column].includes(some[i])))]]
        : [],
    ),
  );
  const draw = () => {
    const number = word(random);
    const place = thresholds.findIndex((threshold) => number < threshold);
    return { place, asked: chosen(lots[place].questions, random) };
  };
  const report = (record, drawn) => {
    // Without a lot all answers are read, before one is drawn: what is missing is refused whatever the lot.
    const answered = drawn?.asked ?? questions.map((_, j) => j);
    const own = new Map(answered.map((j) => [j, questions[j].answers.indexOf(fields[j](record))]));
    const wrong = rules.findIndex((rule) => rule.every(([j, never]) => never[own.get(j)]));
    if (wrong >= 0) throw new Error(`Nobody gives these answers together: ${JSON.stringify(impossible[wrong])}.`);
    const { place, asked } = drawn ?? draw();
    const lot = lots[place];
    for (;;) {
      const images = asked.map((j) => permutation(sizes[j], random));
      const at = asked.reduce((sum, j, axis) => sum * sizes[j] + images[axis][own.get(j)], 0);
      // Drawn in either case, so that the time tells nothing.
      const kept = word(random) < BigInt(accept);
      if (lot.set[at] === "1" || kept) {
        const parts = asked.map((j, axis) => `q${j + 1}=${images[axis].map((image) => LETTERS[image]).join("")}`);
        return [`L${place + 1}`, ...parts].join("/");
      }
    }
  };
  return Object.assign(report, {
    channel: ID,
    draw,
    values: Object.fromEntries(questions.map(({ name, answers }) => [name, answers])),
  });
}

/** Return a whole number below a bound, each equally likely. */
function below(bound, random) {
  const total = 1n << BITS;
  const size = BigInt(bound);
  for (;;) {
    const number = word(random);
    if (number < total - (total % size)) return Number(number % size);
  }
}

/** Return a permutation, by Fisher and Yates. */
function permutation(size, random) {
  const found = Array.from({ length: size }, (_, place) => place);
  for (let last = size - 1; last > 0; last -= 1) {
    const other = below(last + 1, random);
    [found[last], found[other]] = [found[other], found[last]];
  }
  return found;
}

/** Return a question for each place, of those that it may have, all different. */
function chosen(places, random) {
  const left = new Map(places.map((kind) => [kind.join(), [...kind]]));
  return places.map((kind) => {
    const some = left.get(kind.join());
    return some.splice(below(some.length, random), 1)[0];
  });
}
