//! Geometries in closed form.

use polariscope_graph::Graph;
use polariscope_lens::{Clock, Observer, Stopped, Work};
use polariscope_meanfield::{approximations, coherent_approximations};
use polariscope_report::counted;

use super::answer::Answer;
use super::resolved::Resolved;
use crate::{
    GeometryError, Gradient, Kron, Method, Probe, Spectrum, Summary, coherent, coherent_and_local,
    exact, kernel, kernel_memory, mean_field,
};

impl Resolved {
    pub(super) fn closed(
        &self,
        graph: &Graph,
        clock: &mut Clock,
        observer: &mut dyn Observer,
    ) -> Result<Answer, GeometryError> {
        let (matrix, local) = clock.time("closed form", || self.closed_matrix(graph, observer))?;
        let (spectrum, summary) = clock.time("spectrum", || {
            self.foretell_spectrum(&matrix, observer);
            let spectrum = Spectrum::on(self.setup.device, &matrix)?;
            let summary = Summary::of(&spectrum);
            Ok::<_, GeometryError>((spectrum, summary))
        })?;
        let mut answer = self.assemble(graph, matrix, spectrum, summary);
        answer.local = local;
        if self.method == Method::MeanField {
            answer.numbers.notes = match self.gradient {
                Gradient::Coherent => coherent_approximations(graph),
                Gradient::Local | Gradient::Dipole { .. } => approximations(graph),
            };
        }
        Ok(answer)
    }

    /// G, and the local geometry of the same inputs where it comes with it.
    pub(super) fn closed_matrix(
        &self,
        graph: &Graph,
        observer: &mut dyn Observer,
    ) -> Result<(Kron, Option<Kron>), GeometryError> {
        let (probe, output) = (&self.probe, self.output);
        if let (Method::MeanField, Gradient::Coherent, Probe::Gauss { sigma }) =
            (self.method, self.gradient, probe)
        {
            self.foretell_form(graph, self.method, observer);
            let [coherent, local] = coherent_and_local(graph, *sigma, output)?;
            return Ok((coherent, Some(local)));
        }
        let g = match self.method {
            Method::Kernel => self.by_kernel(graph, observer)?,
            method => self.by_form(graph, method, observer)?,
        };
        Ok((g, None))
    }

    /// By the exact form, or else by the mean field.
    pub(super) fn by_form(
        &self,
        graph: &Graph,
        form: Method,
        observer: &mut dyn Observer,
    ) -> Result<Kron, GeometryError> {
        let (probe, probes, output) = (&self.probe, self.probes, self.output);
        self.foretell_form(graph, form, observer);
        match (form, self.gradient) {
            (Method::Exact, _) => exact(graph, probe, output),
            (_, Gradient::Coherent) => coherent(graph, probe, probes, output, self.setup.seed),
            (_, Gradient::Local | Gradient::Dipole { .. }) => {
                mean_field(graph, probe, probes, output, self.setup.seed)
            }
        }
    }

    /// The geometry of the kernel, row by row with progress.
    fn by_kernel(&self, graph: &Graph, observer: &mut dyn Observer) -> Result<Kron, GeometryError> {
        let bytes = kernel_memory(graph, self.output)?;
        let (mut begun, mut stopped) = (false, None::<Stopped>);
        let g = kernel(
            graph,
            self.gradient,
            (&self.probe, self.probes),
            self.output,
            self.setup.seed,
            |done, total| {
                if !begun {
                    begun = true;
                    observer.begin(Work {
                        unit: "rows of G".into(),
                        first: 0,
                        total,
                        words: counted(total, "row"),
                        bytes,
                    });
                }
                // Rows cannot be interrupted; what was found is dropped at the end.
                stopped = stopped.or(observer.advance(done, &|| None).err());
            },
        )?;
        observer.end();
        stopped.map_or(Ok(g), |stopped| Err(stopped.into()))
    }
}
