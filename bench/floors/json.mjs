// Runs JSON.stringify on the rows of a list.
import { repeatFor, serveJobs } from './measure.mjs';

serveJobs({}, ({ text, seconds }) => {
  const value = JSON.parse(text);
  return repeatFor(seconds, () => {
    for (let count = 0; count < 50; count += 1) JSON.stringify(value);
  }).then((result) => ({ ...result, count: result.count * 50 }));
});
