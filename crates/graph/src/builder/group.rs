//! Convolutions over groups of turns and mirror images, and what ends them.
//!
//! A map over the group is a number for every element g and every position p. It is an image with the maps of the
//! elements one below the other, |G|·H × W: its channels are the fields, its positions the elements (g, p) of the whole
//! group. So biases, batch norms and group norms, which have one number a channel, share it over the group as its symmetry
//! wants; layer norms, which weigh every number by itself, do not.

use super::laws::PytorchLaws;
use super::linear::{ConvSpec, at_least_one, weights_too_large};
use super::window::slide;
use super::{Builder, is_a, product, setting_error, shape_error};
use crate::{GraphError, Group, NodeId, Op, Projection, Role, Shape, Window};

impl Builder {
    /// Convolution over a group to `spec`'s channels, each a map for every element (+ b, one a channel). It lifts an image
    /// (W: out × in × k × k) and keeps maps over the same group (W: out × in × |G| × k × k).
    pub fn group_conv(
        &mut self,
        x: NodeId,
        layer: &str,
        group: Group,
        spec: ConvSpec,
    ) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let name = group.conv();
        let input = self.shape(x);
        let Shape::Image {
            channels: fields,
            height,
            width,
        } = input
        else {
            let wanted = "an image CxHxW";
            return Err(shape_error(layer, name, input, is_a(input), wanted));
        };
        let elements = match self.graph.group(x) {
            None => 1,
            Some(own) if own == group => group.order(),
            Some(own) => {
                let problem = format!("holds maps over {}", own.name());
                let wanted = format!("{}, or a group-pool before it", own.conv());
                return Err(shape_error(layer, name, input, problem, wanted));
            }
        };
        let ConvSpec {
            channels, window, ..
        } = spec;
        for (setting, [h, w]) in [
            ("kernel", window.kernel),
            ("stride", window.stride),
            ("dilation", window.dilation),
        ] {
            if h != w {
                let wanted = "square, so that it can be turned";
                return Err(setting_error(
                    layer,
                    name,
                    setting,
                    format!("{h}x{w}"),
                    wanted,
                ));
            }
        }
        if spec.groups != 1 {
            return Err(setting_error(layer, name, "groups", spec.groups, "1"));
        }
        at_least_one(layer, name, "channels", channels)?;
        let plane = Shape::Image {
            channels: fields,
            height: height / elements,
            width,
        };
        let [rows, columns] = slide(layer, name, plane, &window)?.positions;
        let [k, _] = window.kernel;
        let fan_in = product(&[fields, elements, k, k]);
        let fan_out = product(&[channels, group.order(), k, k]);
        let (Some(fan_in), Some(fan_out)) = (fan_in, fan_out) else {
            return Err(weights_too_large(layer));
        };
        let pytorch = spec.pytorch.unwrap_or(PytorchLaws::default_for(fan_in));
        let (law, scale) = self.weight_rule(fan_in, fan_out, pytorch);
        let shape = match elements {
            1 => vec![channels, fields, k, k],
            _ => vec![channels, fields, elements, k, k],
        };
        let weight = format!("{layer}.weight");
        let weight = self.param(layer, weight, &shape, law, Role::Trainable)?;
        let op = Op::GroupConv {
            weight,
            scale,
            window,
            group,
        };
        let output = Shape::Image {
            channels,
            height: group.order() * rows,
            width: columns,
        };
        let y = self.push(layer, op, &[x], output)?;
        self.with_bias(y, layer, spec.bias, pytorch)
    }

    /// The largest or the mean over the elements of the group, at every position of the plane: an image again.
    pub fn group_pool(
        &mut self,
        x: NodeId,
        layer: &str,
        by: Projection,
    ) -> Result<NodeId, GraphError> {
        self.claim(layer)?;
        let input = self.shape(x);
        let (
            Some(group),
            Shape::Image {
                channels,
                height,
                width,
            },
        ) = (self.graph.group(x), input)
        else {
            let wanted = "maps over a group, so put a p4-conv or a p4m-conv before it";
            return Err(shape_error(layer, "group-pool", input, is_a(input), wanted));
        };
        let output = Shape::Image {
            channels,
            height: height / group.order(),
            width,
        };
        self.push(layer, Op::GroupPool { group, by }, &[x], output)
    }

    /// Refuses maps over a group, which lie one below the other, for a layer that would take them for one image.
    pub(super) fn plane(&self, x: NodeId, layer: &str, op: &'static str) -> Result<(), GraphError> {
        let Some(group) = self.graph.group(x) else {
            return Ok(());
        };
        let problem = format!("holds maps over {}", group.name());
        let wanted = format!("{}, or a group-pool before it", group.conv());
        Err(shape_error(layer, op, self.shape(x), problem, wanted))
    }

    /// Refuses a pool over maps over a group whose windows do not tile each of them.
    pub(super) fn tiles(
        &self,
        x: NodeId,
        layer: &str,
        op: &'static str,
        window: &Window,
    ) -> Result<(), GraphError> {
        let (Some(group), input @ Shape::Image { height, width, .. }) =
            (self.graph.group(x), self.shape(x))
        else {
            return Ok(());
        };
        let sizes = [height / group.order(), width];
        let is_tiled = |axis: usize| {
            let (n, k, stride) = (sizes[axis], window.kernel[axis], window.stride[axis]);
            k == stride && n.is_multiple_of(k) && window.padding.amounts(n, k, stride) == (0, 0)
        };
        if is_tiled(0) && is_tiled(1) {
            return Ok(());
        }
        let problem = format!(
            "holds {} maps of {}x{} over {}, which windows of {}x{} do not tile",
            group.order(),
            sizes[0],
            sizes[1],
            group.name(),
            window.kernel[0],
            window.kernel[1]
        );
        let wanted = "sizes that divide the maps, the same stride and no padding";
        Err(shape_error(layer, op, input, problem, wanted))
    }

    /// Refuses to bring together what is over different groups.
    pub(super) fn same_group(
        &self,
        inputs: &[NodeId],
        layer: &str,
        op: &'static str,
    ) -> Result<(), GraphError> {
        let group = |x: NodeId| self.graph.group(x).map_or("the plane", Group::name);
        for two in inputs.windows(2) {
            let [first, second] = [two[0], two[1]].map(group);
            if first != second {
                let problem = format!("holds maps over {second} beside maps over {first}");
                let wanted = "the same group on every path";
                return Err(shape_error(layer, op, self.shape(two[1]), problem, wanted));
            }
        }
        Ok(())
    }
}
