//! Networks by name, with the shapes and the parameter names of their reference implementations.

mod alexnet;
mod convnext;
mod densenet;
mod inverted;
mod kernel;
mod lenet;
mod mlp;
mod p4;
mod resnet;
mod resnet9;
mod vgg;
mod vit;

use serde::{Deserialize, Serialize};

use crate::names::nearest;
use crate::{
    Activation, BiasRule, Builder, Graph, GraphError, Nonlinearity, Parametrisation, Shape,
};

/// What a name leaves open. `None` takes the network's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ZooOptions {
    /// Shape of one input sample; 3x32x32 by default.
    pub input: Option<Shape>,
    /// Numbers in the output; 10 by default.
    pub outputs: Option<usize>,
    /// Replaces every activation of the network.
    pub activation: Option<Nonlinearity>,
    /// Laws and scales; `pytorch` by default, `ntk` for the kernel networks, `mean-field` for the `fc` ones.
    pub parametrisation: Option<Parametrisation>,
    /// Override of the laws of biases.
    pub bias: BiasRule,
    /// Hidden layers of a kernel network.
    pub depth: Option<usize>,
    /// Channels or features of a kernel network's hidden layers.
    pub width: Option<usize>,
    /// Taps of a convolutional kernel network, per axis.
    pub kernel: Option<usize>,
}

impl ZooOptions {
    /// Inputs of this shape; everything else is left open.
    pub fn with_input(input: Shape) -> Self {
        Self {
            input: Some(input),
            ..Self::default()
        }
    }
}

/// A name of the zoo.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ZooEntry {
    /// What to type; `mlp-LxN` stands for every depth L and width N.
    pub name: &'static str,
    /// One line about it.
    pub description: &'static str,
    #[serde(skip)]
    reads: Reads,
    #[serde(skip)]
    sizes: Sizes,
    #[serde(skip)]
    parametrisation: Parametrisation,
    #[serde(skip)]
    build: fn(&mut Builder, &Settings) -> Result<(), GraphError>,
}

/// Inputs a network can read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reads {
    /// Any shape; it is flattened.
    Anything,
    /// Images.
    Images,
    /// Images and signals.
    Positions,
}

/// Which of depth, width and kernel a name leaves open.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sizes {
    Fixed,
    DepthWidth,
    DepthWidthKernel,
}

/// [`ZooOptions`] with the defaults filled in.
struct Settings {
    outputs: usize,
    activation: Option<Nonlinearity>,
    depth: Option<usize>,
    width: Option<usize>,
    kernel: Option<usize>,
}

impl Settings {
    /// The activation asked for, or the network's own.
    fn activation(&self, own: Activation) -> Nonlinearity {
        self.activation.unwrap_or(own.into())
    }
}

const fn entry(
    name: &'static str,
    description: &'static str,
    reads: Reads,
    sizes: Sizes,
    build: fn(&mut Builder, &Settings) -> Result<(), GraphError>,
) -> ZooEntry {
    let parametrisation = match sizes {
        Sizes::Fixed => Parametrisation::Pytorch,
        Sizes::DepthWidth | Sizes::DepthWidthKernel => kernel::PARAMETRISATION,
    };
    ZooEntry {
        name,
        description,
        reads,
        sizes,
        parametrisation,
        build,
    }
}

impl ZooEntry {
    /// The same in another parametrisation, where none is asked for.
    const fn starting_in(self, parametrisation: Parametrisation) -> Self {
        ZooEntry {
            parametrisation,
            ..self
        }
    }
}

/// The name that stands for every `mlp-LxN`.
const MLP: &str = "mlp-LxN";

/// Every name of the zoo.
static ZOO: [ZooEntry; 38] = {
    use Reads::{Anything, Images, Positions};
    use Sizes::{DepthWidth, DepthWidthKernel, Fixed};
    [
        entry(
            "logreg",
            "logistic regression: one dense layer",
            Anything,
            Fixed,
            mlp::build,
        ),
        entry(
            MLP,
            "L hidden dense layers of N features, such as mlp-2x100",
            Anything,
            Fixed,
            mlp::build,
        ),
        entry(
            "fc-2",
            "two hidden dense layers of 64, in mean-field, no biases",
            Anything,
            Fixed,
            kernel::fc2,
        )
        .starting_in(kernel::MEAN_FIELD),
        entry(
            "fc-4",
            "four hidden dense layers of 64, in mean-field, no biases",
            Anything,
            Fixed,
            kernel::fc4,
        )
        .starting_in(kernel::MEAN_FIELD),
        entry(
            "fc-6",
            "six hidden dense layers of 64, in mean-field, no biases",
            Anything,
            Fixed,
            kernel::fc6,
        )
        .starting_in(kernel::MEAN_FIELD),
        entry(
            "lenet",
            "LeNet-5 with max-pool: conv 6 and 16 (5x5), dense 120, 84",
            Images,
            Fixed,
            lenet::max,
        ),
        entry(
            "lenet-avg",
            "LeNet-5 with average pool",
            Images,
            Fixed,
            lenet::avg,
        ),
        entry(
            "lenet-gap",
            "LeNet's convolutions with average pool, global average pool, dense",
            Images,
            Fixed,
            lenet::gap,
        ),
        entry(
            "lenet-nopool",
            "LeNet-5 without its pools",
            Images,
            Fixed,
            lenet::bare,
        ),
        entry(
            "alexnet",
            "AlexNet for small images: five 3x3 convolutions, dense 4096, 4096 with dropout",
            Images,
            Fixed,
            alexnet::build,
        ),
        entry(
            "vgg11",
            "VGG-11 for small images, classifier 512-512 with dropout",
            Images,
            Fixed,
            vgg::vgg11,
        ),
        entry(
            "vgg11-bn",
            "VGG-11 with batch norm",
            Images,
            Fixed,
            vgg::vgg11_bn,
        ),
        entry("vgg13", "VGG-13, as vgg11", Images, Fixed, vgg::vgg13),
        entry(
            "vgg13-bn",
            "VGG-13 with batch norm",
            Images,
            Fixed,
            vgg::vgg13_bn,
        ),
        entry("vgg16", "VGG-16, as vgg11", Images, Fixed, vgg::vgg16),
        entry(
            "vgg16-bn",
            "VGG-16 with batch norm",
            Images,
            Fixed,
            vgg::vgg16_bn,
        ),
        entry("vgg19", "VGG-19, as vgg11", Images, Fixed, vgg::vgg19),
        entry(
            "vgg19-bn",
            "VGG-19 with batch norm",
            Images,
            Fixed,
            vgg::vgg19_bn,
        ),
        entry(
            "resnet9",
            "ResNet-9: eight conv-norm-activation blocks, no skip",
            Images,
            Fixed,
            resnet9::build,
        ),
        entry(
            "resnet18",
            "ResNet-18 for small images: 3x3 stem, stages 64-128-256-512 of 2 blocks",
            Images,
            Fixed,
            resnet::resnet18,
        ),
        entry(
            "resnet18-nobn",
            "ResNet-18 without batch norm",
            Images,
            Fixed,
            resnet::resnet18_nobn,
        ),
        entry(
            "resnet34",
            "ResNet-34 for small images: stages of 3, 4, 6, 3 blocks",
            Images,
            Fixed,
            resnet::resnet34,
        ),
        entry(
            "resnet50",
            "ResNet-50 for small images: stages of 3, 4, 6, 3 bottlenecks",
            Images,
            Fixed,
            resnet::resnet50,
        ),
        entry(
            "densenet121",
            "DenseNet-121 for small images: growth 32, blocks 6-12-24-16",
            Images,
            Fixed,
            densenet::build,
        ),
        entry(
            "mobilenet",
            "MobileNetV2 for small images: 17 inverted residuals, stem of stride 1",
            Images,
            Fixed,
            inverted::mobilenet,
        ),
        entry(
            "efficientnet-b0",
            "EfficientNet-B0 for small images: 16 inverted residuals, squeeze-and-excite",
            Images,
            Fixed,
            inverted::efficientnet_b0,
        ),
        entry(
            "convnext-tiny",
            "ConvNeXt-T: patches of 4, depthwise 7x7, layer norm, stages of 3, 3, 9, 3 blocks",
            Images,
            Fixed,
            convnext::tiny,
        ),
        entry(
            "vit",
            "vision transformer: patch 8, 9 layers, 12 heads, width 192",
            Images,
            Fixed,
            vit::with_norm,
        ),
        entry(
            "vit-noln",
            "vision transformer without layer norm",
            Images,
            Fixed,
            vit::without_norm,
        ),
        entry(
            "cnn",
            "four 3x3 convolutions 16-32-32-64 with batch norm, two pools, global average pool",
            Images,
            Fixed,
            p4::cnn,
        ),
        entry(
            "p4-cnn",
            "cnn over quarter turns: fields 8-16-16-32, as many parameters",
            Images,
            Fixed,
            p4::p4,
        ),
        entry(
            "p4m-cnn",
            "cnn over quarter turns and mirror images: fields 6-11-12-22, as many parameters",
            Images,
            Fixed,
            p4::p4m,
        ),
        entry(
            "fcn",
            "fully connected kernel network; options depth, width",
            Anything,
            DepthWidth,
            kernel::fcn,
        ),
        entry(
            "lcn",
            "locally connected kernel network, flatten read-out; options depth, width, kernel",
            Positions,
            DepthWidthKernel,
            kernel::lcn,
        ),
        entry(
            "cnn-vec",
            "circular convolutions, flatten read-out; options depth, width, kernel",
            Positions,
            DepthWidthKernel,
            kernel::vec,
        ),
        entry(
            "cnn-gap",
            "circular convolutions, global average pool; options depth, width, kernel",
            Positions,
            DepthWidthKernel,
            kernel::gap,
        ),
        entry(
            "cnn-lap4",
            "circular convolutions, 4x4 average pool, flatten; options depth, width, kernel",
            Positions,
            DepthWidthKernel,
            kernel::lap4,
        ),
        entry(
            "cnn-lap8",
            "circular convolutions, 8x8 average pool, flatten; options depth, width, kernel",
            Positions,
            DepthWidthKernel,
            kernel::lap8,
        ),
    ]
};

/// Every name of the zoo, with a description.
pub fn zoo_list() -> &'static [ZooEntry] {
    &ZOO
}

/// Builds a network of the zoo.
///
/// ```
/// use polariscope_graph::{ZooOptions, zoo};
/// let resnet = zoo("resnet18", &ZooOptions::default())?;
/// assert_eq!(resnet.parameter_count(), 11_173_962);
///
/// let typo = zoo("resnet81", &ZooOptions::default()).unwrap_err();
/// assert_eq!(typo.to_string(), "unknown architecture `resnet81`: did you mean `resnet18`?");
/// # Ok::<(), polariscope_graph::GraphError>(())
/// ```
pub fn zoo(name: &str, options: &ZooOptions) -> Result<Graph, GraphError> {
    let entry = find(name)?;
    let hidden = mlp::sizes(name);
    check_sizes(entry, name, options)?;
    let input = options.input.unwrap_or(Shape::Image {
        channels: 3,
        height: 32,
        width: 32,
    });
    let wanted = match (entry.reads, input) {
        (Reads::Images, Shape::Image { .. })
        | (Reads::Positions, Shape::Image { .. } | Shape::Signal { .. })
        | (Reads::Anything, _) => None,
        (Reads::Images | Reads::Positions, _) => Some("an image CxHxW such as 3x32x32"),
    };
    if let Some(wanted) = wanted {
        return Err(GraphError::Input {
            architecture: name.to_owned(),
            input,
            wanted,
        });
    }
    let parametrisation = options.parametrisation.unwrap_or(entry.parametrisation);
    let mut builder = Builder::new(name, input, parametrisation, options.bias)?;
    let settings = Settings {
        outputs: options.outputs.unwrap_or(10),
        activation: options.activation,
        depth: hidden.map(|(depth, _)| depth).or(options.depth),
        width: hidden.map(|(_, width)| width).or(options.width),
        kernel: options.kernel,
    };
    (entry.build)(&mut builder, &settings)?;
    Ok(builder.finish())
}

/// The entry behind a name.
fn find(name: &str) -> Result<&'static ZooEntry, GraphError> {
    let key = match mlp::sizes(name) {
        Some(_) => MLP,
        None => name,
    };
    if let Some(entry) = ZOO.iter().find(|e| e.name == key)
        && name != MLP
    {
        return Ok(entry);
    }
    let names = ZOO.iter().map(|e| e.name).filter(|&n| n != MLP);
    let hint = if name == "mlp" || name.starts_with("mlp-") {
        "mlp-LxN wants whole numbers from 1 for L layers of N features, such as `mlp-2x100`"
            .to_owned()
    } else if let Some(near) = nearest(name, names.chain(["mlp-2x100"])) {
        format!("did you mean `{near}`?")
    } else {
        "it is neither a name of the zoo (such as resnet18, lenet, mlp-2x100) nor an architecture file".to_owned()
    };
    Err(GraphError::UnknownArchitecture {
        name: name.to_owned(),
        hint,
    })
}

/// Refuses an option that the name does not leave open.
fn check_sizes(entry: &ZooEntry, name: &str, options: &ZooOptions) -> Result<(), GraphError> {
    let given = [
        ("--depth", options.depth, entry.sizes != Sizes::Fixed),
        ("--width", options.width, entry.sizes != Sizes::Fixed),
        (
            "--kernel",
            options.kernel,
            entry.sizes == Sizes::DepthWidthKernel,
        ),
    ];
    for (option, value, taken) in given {
        let Some(value) = value else { continue };
        let problem = match (taken, value) {
            (true, 1..) => continue,
            (true, 0) => "must be at least 1",
            (false, _) if option == "--kernel" => {
                "is not an option of this network; lcn, cnn-vec, cnn-gap, cnn-lap4 and cnn-lap8 take it"
            }
            (false, _) => {
                "is not an option of this network; fcn, lcn, cnn-vec, cnn-gap, cnn-lap4 and cnn-lap8 take it"
            }
        };
        return Err(GraphError::Option {
            architecture: name.to_owned(),
            option,
            problem: problem.to_owned(),
        });
    }
    match options.outputs {
        Some(0) => Err(GraphError::Option {
            architecture: name.to_owned(),
            option: "--outputs",
            problem: "must be at least 1".to_owned(),
        }),
        _ => Ok(()),
    }
}
