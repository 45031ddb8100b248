// What the values in the picture are, and the choice of the other ones.
import { useLegend, type Values } from './legends';

interface Props {
  file: string;
  path: string;
  values: Values;
  onValues: (values: Values) => void;
  onPicture: () => void;
}

export function ValuesBar({ file, path, values, onValues, onPicture }: Props) {
  const legend = useLegend(file, path);
  if (!legend) {
    return null;
  }
  const { is_changed, how, problems, label, stored_label, picture } = legend;
  return (
    <div className="values" role="group" aria-label="Values">
      <b>{values === 'decoded' ? label : stored_label}</b>
      {is_changed ? (
        <span className="which">{values === 'decoded' ? 'decoded values' : 'stored values, not decoded'}</span>
      ) : (
        <span className="which">values as stored</span>
      )}
      {is_changed && (
        <label>
          <input type="checkbox" checked={values === 'stored'} onChange={(event) => onValues(event.target.checked ? 'stored' : 'decoded')} /> stored values
        </label>
      )}
      {picture && (
        <button type="button" onClick={onPicture}>
          On its coordinates
        </button>
      )}
      {how && (
        <span className="how" title={how}>
          {how}
        </span>
      )}
      {problems.map((problem) => (
        <span key={problem} className="problem">
          {problem}
        </span>
      ))}
    </div>
  );
}
